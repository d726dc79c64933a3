#include "rules/versions.h"

#include <charconv>
#include <cstdint>
#include <optional>

namespace rekindle::doctor {

namespace {

/// Takes the next number off the front of `version`; nothing when there is none.
std::optional<std::uint64_t> take_component(std::string_view& version) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), number);
    if (error != std::errc{}) {
        version = {};
        return std::nullopt;
    }
    version.remove_prefix(static_cast<std::size_t>(end - version.data()));
    if (!version.empty() && version.front() == '.')
        version.remove_prefix(1);
    else
        version = {};
    return number;
}

} // namespace

int compare_versions(std::string_view left, std::string_view right) {
    while (true) {
        const auto a = take_component(left);
        const auto b = take_component(right);
        if (!a && !b)
            return 0;
        if (a.value_or(0) != b.value_or(0))
            return a.value_or(0) < b.value_or(0) ? -1 : 1;
    }
}

bool same_release(std::string_view left, std::string_view right) {
    while (true) {
        const auto a = take_component(left);
        const auto b = take_component(right);
        if (!a || !b)
            return true;
        if (*a != *b)
            return false;
    }
}

TorchVersion torch_version(std::string_view text) {
    const std::size_t plus = text.find('+');
    if (plus == std::string_view::npos)
        return {std::string(text), ""};
    return {std::string(text.substr(0, plus)), std::string(text.substr(plus + 1))};
}

} // namespace rekindle::doctor
