#include "facts/versions.h"

#include <rekindle/base/text.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

namespace rekindle::doctor {
namespace {

enum class Comparison { less, less_or_equal, greater, greater_or_equal, equal, different, prefix };

struct Term {
    Comparison comparison = Comparison::prefix;
    std::string_view operand;
};

Term term_of(std::string_view text) {
    text = trim(text);
    struct Sign {
        std::string_view text;
        Comparison comparison;
    };
    for (const Sign& sign : {Sign{">=", Comparison::greater_or_equal}, Sign{"<=", Comparison::less_or_equal},
                             Sign{"==", Comparison::equal}, Sign{"!=", Comparison::different},
                             Sign{">", Comparison::greater}, Sign{"<", Comparison::less}})
        if (text.starts_with(sign.text))
            return {sign.comparison, trim(text.substr(sign.text.size()))};
    return {Comparison::prefix, text};
}

bool holds(Comparison comparison, int order) {
    switch (comparison) {
    case Comparison::less:
        return order < 0;
    case Comparison::less_or_equal:
        return order <= 0;
    case Comparison::greater:
        return order > 0;
    case Comparison::greater_or_equal:
        return order >= 0;
    case Comparison::different:
        return order != 0;
    case Comparison::equal:
    case Comparison::prefix:
        break;
    }
    return order == 0;
}

int compare_numbers(const std::vector<long>& left, const std::vector<long>& right) {
    for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
        const long a = i < left.size() ? left[i] : 0;
        const long b = i < right.size() ? right[i] : 0;
        if (a != b)
            return a < b ? -1 : 1;
    }
    return 0;
}

bool starts_with(const std::vector<long>& numbers, const std::vector<long>& prefix) {
    return numbers.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), numbers.begin());
}

} // namespace

std::vector<long> version_numbers(std::string_view version) {
    std::vector<long> numbers;
    version = trim(version);
    if (!version.empty() && (version.front() == 'v' || version.front() == 'V'))
        version.remove_prefix(1);
    while (!version.empty() && std::isdigit(static_cast<unsigned char>(version.front())) != 0) {
        long number = 0;
        const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), number);
        if (error != std::errc{})
            break; // more digits than any version has
        numbers.push_back(number);
        version.remove_prefix(static_cast<std::size_t>(end - version.data()));
        if (version.size() < 2 || version.front() != '.')
            break;
        version.remove_prefix(1);
    }
    return numbers;
}

int compare_versions(std::string_view left, std::string_view right) {
    return compare_numbers(version_numbers(left), version_numbers(right));
}

bool same_release(std::string_view left, std::string_view right) {
    const std::vector<long> one = version_numbers(left);
    const std::vector<long> other = version_numbers(right);
    return starts_with(one, other) || starts_with(other, one);
}

TorchVersion torch_version(std::string_view text) {
    const std::size_t plus = text.find('+');
    if (plus == std::string_view::npos)
        return {std::string(text), ""};
    return {std::string(text.substr(0, plus)), std::string(text.substr(plus + 1))};
}

std::optional<bool> version_in(std::string_view version, std::string_view range) {
    const std::vector<long> numbers = version_numbers(version);
    if (numbers.empty())
        return std::nullopt;
    bool all = true;
    for (const std::string_view part : split(range, ',')) {
        const Term term = term_of(part);
        const std::vector<long> operand = version_numbers(term.operand);
        if (operand.empty())
            return std::nullopt;
        all = all && (term.comparison == Comparison::prefix
                          ? starts_with(numbers, operand)
                          : holds(term.comparison, compare_numbers(numbers, operand)));
    }
    return all;
}

std::optional<bool> number_in(double number, std::string_view range) {
    if (!std::isfinite(number))
        return std::nullopt;
    bool all = true;
    for (const std::string_view part : split(range, ',')) {
        const Term term = term_of(part);
        double operand = 0;
        const auto [end, error] =
            std::from_chars(term.operand.data(), term.operand.data() + term.operand.size(), operand);
        if (error != std::errc{} || end != term.operand.data() + term.operand.size())
            return std::nullopt;
        all = all && holds(term.comparison, number < operand ? -1 : number > operand ? 1 : 0);
    }
    return all;
}

} // namespace rekindle::doctor
