#include "version.h"

#include <algorithm>

namespace rekindle::doctor {
namespace {

bool begins_with(const std::vector<long>& numbers, const std::vector<long>& beginning) {
    return numbers.size() >= beginning.size() &&
           std::equal(beginning.begin(), beginning.end(), numbers.begin());
}

} // namespace

std::optional<VersionPattern> VersionPattern::parse(std::string_view text) {
    VersionPattern pattern;
    pattern.text = text;
    pattern.or_later = text.ends_with('+');
    pattern.numbers = version_numbers(text);
    if (pattern.numbers.size() < 2)
        return std::nullopt;
    return pattern;
}

bool VersionPattern::matches(std::string_view version) const {
    const std::vector<long> known = version_numbers(version);
    return begins_with(known, numbers) || (or_later && known >= numbers);
}

bool VersionPattern::overlaps(std::string_view version) const {
    return matches(version) || begins_with(numbers, version_numbers(version));
}

} // namespace rekindle::doctor
