#pragma once
#include <limits>
#include <string>
#include <string_view>

namespace rekindle {

/// The range of numbers that a setting accepts.
struct Range {
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
    bool low_excluded = false;
    bool high_excluded = false;

    bool contains(double value) const noexcept {
        return (low_excluded ? value > low : value >= low) && (high_excluded ? value < high : value <= high);
    }
    /// `what` and the range: "a whole number, at least 1", "a number from 0 to 1", "a number above 0 and
    /// below 1".
    std::string text(std::string_view what) const;
};

} // namespace rekindle
