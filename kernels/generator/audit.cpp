#include "audit.h"

#include "values.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>

namespace rekindle::kernels::generator {
namespace {

std::string_view trimmed(std::string_view text) {
    const auto begin = text.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos)
        return {};
    return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::uint32_t parse_number(std::string_view text, std::string_view digits) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (digits.empty() || error != std::errc() || end != digits.data() + digits.size())
        throw Refused("'" + std::string(text) + "' is not constant=value with a 32-bit number");
    return value;
}

std::pair<std::string, std::uint32_t> parse_value(std::string_view text, std::string_view kernel,
                                                  const AuditScope& scope) {
    const auto equals = text.find('=');
    const std::string name(text.substr(0, equals));
    if (std::ranges::find(scope.constants, name, &ReflectedConstant::name) == scope.constants.end())
        throw Refused("the family has no specialization constant '" + name + "'");
    auto value = equals == std::string_view::npos ? std::string_view() : text.substr(equals + 1);
    const std::string_view enumeration = enumeration_of(scope.family, kernel, name);
    if (enumeration.empty())
        return {name, parse_number(text, value)};
    if (enumeration == "dtype" && value == "own")
        value = scope.dtype;
    const auto number = number_of(enumeration, value);
    if (!number)
        throw Refused("'" + std::string(text) + "' does not name a value of the enumeration " +
                      std::string(enumeration) + " (kernels/include/rekindle/kernels)");
    return {name, *number};
}

/// The kernels of this dtype that a line's first column names.
std::vector<std::string_view> parse_kernels(std::string_view column, const AuditScope& scope) {
    std::vector<std::string_view> kernels;
    for (std::size_t begin = 0; begin <= column.size();) {
        const auto end = std::min(column.find(',', begin), column.size());
        const std::string_view kernel = trimmed(column.substr(begin, end - begin));
        if (std::ranges::find(scope.kernels, kernel) != scope.kernels.end())
            kernels.push_back(kernel);
        else if (std::ranges::find(scope.other_kernels, kernel) == scope.other_kernels.end())
            throw Refused("the family has no kernel '" + std::string(kernel) + "'");
        begin = end + 1;
    }
    return kernels;
}

Case parse_case(std::string_view kernel, std::string_view name, std::string_view values,
                const AuditScope& scope) {
    Case result{std::string(kernel), std::string(name), {}, {}};
    std::istringstream words{std::string(values)};
    for (std::string word; words >> word;)
        result.constants.push_back(parse_value(word, kernel, scope));
    return result;
}

void parse_line(std::string_view line, const AuditScope& scope, std::vector<Case>& cases) {
    const auto first = line.find('|');
    const auto second = first == std::string_view::npos ? first : line.find('|', first + 1);
    if (second == std::string_view::npos)
        throw Refused("not of the form 'kernel | case | constant=value …'");
    const std::string_view name = trimmed(line.substr(first + 1, second - first - 1));
    for (const std::string_view kernel : parse_kernels(line.substr(0, first), scope)) {
        if (std::ranges::any_of(
                cases, [&](const Case& other) { return other.kernel == kernel && other.name == name; }))
            throw Refused("the case '" + std::string(name) + "' of '" + std::string(kernel) +
                          "' appears twice");
        cases.push_back(parse_case(kernel, name, line.substr(second + 1), scope));
    }
}

} // namespace

std::vector<Case> parse_audit(std::string_view text, const AuditScope& scope) {
    std::vector<Case> cases;
    std::istringstream lines{std::string(text)};
    std::size_t number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        if (trimmed(line).empty() || trimmed(line).front() == '#')
            continue;
        try {
            parse_line(line, scope, cases);
        } catch (const Refused& e) {
            throw Refused("line " + std::to_string(number) + ": " + e.what());
        }
    }
    return cases;
}

std::vector<Case> read_audit(const std::filesystem::path& file, const AuditScope& scope) {
    std::vector<Case> cases;
    if (std::ifstream stream(file, std::ios::binary); stream) {
        try {
            cases = parse_audit(std::string(std::istreambuf_iterator<char>(stream), {}), scope);
        } catch (const Refused& e) {
            throw Refused(file.string() + ", " + e.what());
        }
    }
    for (const std::string_view kernel : scope.kernels) {
        if (std::ranges::find(cases, kernel, &Case::kernel) != cases.end())
            continue;
        if (!scope.constants.empty())
            throw Refused("the family has specialization constants, but " + file.string() +
                          " has no case for its kernel '" + std::string(kernel) + "'");
        cases.push_back({std::string(kernel), "", {}, {}});
    }
    return cases;
}

} // namespace rekindle::kernels::generator
