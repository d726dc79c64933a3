#include "audit.h"

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

std::pair<std::string, std::uint32_t> parse_value(std::string_view text,
                                                  std::span<const ReflectedConstant> constants) {
    const auto equals = text.find('=');
    const std::string name(text.substr(0, equals));
    if (std::ranges::find(constants, name, &ReflectedConstant::name) == constants.end())
        throw Refused("the family has no specialization constant '" + name + "'");
    const auto digits = equals == std::string_view::npos ? std::string_view() : text.substr(equals + 1);
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (digits.empty() || error != std::errc() || end != digits.data() + digits.size())
        throw Refused("'" + std::string(text) + "' is not constant=value with a 32-bit number");
    return {name, value};
}

Case parse_line(std::string_view line, std::span<const std::string_view> kernels,
                std::span<const ReflectedConstant> constants) {
    const auto first = line.find('|');
    const auto second = first == std::string_view::npos ? first : line.find('|', first + 1);
    if (second == std::string_view::npos)
        throw Refused("not of the form 'kernel | case | constant=value …'");
    Case result{std::string(trimmed(line.substr(0, first))),
                std::string(trimmed(line.substr(first + 1, second - first - 1))),
                {},
                {}};
    if (std::ranges::find(kernels, result.kernel) == kernels.end())
        throw Refused("the family has no kernel '" + result.kernel + "'");
    std::istringstream values{std::string(line.substr(second + 1))};
    for (std::string word; values >> word;)
        if (const Features feature = feature_named(word); !feature.empty())
            result.needs = result.needs | feature;
        else
            result.constants.push_back(parse_value(word, constants));
    return result;
}

} // namespace

std::vector<Case> parse_audit(std::string_view text, std::span<const std::string_view> kernels,
                              std::span<const ReflectedConstant> constants) {
    std::vector<Case> cases;
    std::istringstream lines{std::string(text)};
    std::size_t number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        if (trimmed(line).empty() || trimmed(line).front() == '#')
            continue;
        try {
            Case found = parse_line(line, kernels, constants);
            if (std::ranges::any_of(cases, [&](const Case& other) {
                    return other.kernel == found.kernel && other.name == found.name;
                }))
                throw Refused("the case '" + found.name + "' of '" + found.kernel + "' appears twice");
            cases.push_back(std::move(found));
        } catch (const Refused& e) {
            throw Refused("line " + std::to_string(number) + ": " + e.what());
        }
    }
    return cases;
}

std::vector<Case> read_audit(const std::filesystem::path& file, std::span<const std::string_view> kernels,
                             std::span<const ReflectedConstant> constants) {
    std::vector<Case> cases;
    if (std::ifstream stream(file, std::ios::binary); stream) {
        try {
            cases = parse_audit(std::string(std::istreambuf_iterator<char>(stream), {}), kernels, constants);
        } catch (const Refused& e) {
            throw Refused(file.string() + ", " + e.what());
        }
    }
    for (const std::string_view kernel : kernels) {
        if (std::ranges::find(cases, kernel, &Case::kernel) != cases.end())
            continue;
        if (!constants.empty())
            throw Refused("the family has specialization constants, but " + file.string() +
                          " has no case for its kernel '" + std::string(kernel) + "'");
        cases.push_back({std::string(kernel), "", {}, {}});
    }
    return cases;
}

} // namespace rekindle::kernels::generator
