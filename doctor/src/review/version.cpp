#include "version.h"

#include <algorithm>

namespace rekindle::doctor {
namespace {

constexpr std::size_t digits_limit = 8;

bool begins_with(const std::vector<int>& numbers, const std::vector<int>& beginning) {
    return numbers.size() >= beginning.size() &&
           std::equal(beginning.begin(), beginning.end(), numbers.begin());
}

} // namespace

std::vector<int> version_numbers(std::string_view text) {
    std::vector<int> numbers;
    while (!text.empty()) {
        int number = 0;
        std::size_t digits = 0;
        while (digits < text.size() && digits < digits_limit && text[digits] >= '0' && text[digits] <= '9')
            number = 10 * number + (text[digits++] - '0');
        if (digits == 0)
            break;
        numbers.push_back(number);
        if (digits == text.size() || text[digits] != '.')
            break;
        text.remove_prefix(digits + 1);
    }
    return numbers;
}

int compare_versions(std::string_view left, std::string_view right) {
    const std::vector<int> one = version_numbers(left);
    const std::vector<int> other = version_numbers(right);
    return one < other ? -1 : one > other ? 1 : 0;
}

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
    const std::vector<int> known = version_numbers(version);
    return begins_with(known, numbers) || (or_later && known >= numbers);
}

bool VersionPattern::overlaps(std::string_view version) const {
    return matches(version) || begins_with(numbers, version_numbers(version));
}

} // namespace rekindle::doctor
