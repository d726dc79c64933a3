#pragma once
/// Versions in the loose forms that documents use.

#include "facts/versions.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// "2.5.1", "2.5.x", "2.5", "6.3+", "2.6.x+".
struct VersionPattern {
    std::vector<long> numbers; ///< at least two
    bool or_later = false;
    std::string text;

    static std::optional<VersionPattern> parse(std::string_view text);
    /// Whether the version begins with these numbers, or is later if that is allowed.
    bool matches(std::string_view version) const;
    /// Whether one begins with the other: "6.2.0" in a document is the index rocm6.2.
    bool overlaps(std::string_view version) const;
};

} // namespace rekindle::doctor
