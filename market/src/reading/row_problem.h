#pragma once
/// Why a row cannot be used, and how its fields are shown in messages.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace rekindle::market::reading {

/// The fields of one row.
using Fields = std::span<const std::string_view>;

struct Problem {
    std::size_t field = 0; ///< position of the field, from 0
    std::string reason;
    std::string expected;
};

/// A value for display in a message: short and without control characters.
std::string shown(std::string_view text);

/// Describes a field that should hold a number but is missing or malformed. `name` is "open", "volume" …
Problem missing_or_malformed(std::size_t field, std::string_view name, std::string_view text);

} // namespace rekindle::market::reading
