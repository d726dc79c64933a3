#include "cuda_variables.h"

#include <rekindle/foundation/environment.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <numeric>
#include <string_view>

namespace rvk {

namespace {

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    return first == std::string_view::npos ? std::string_view()
                                           : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// The index in `left` of the device that an entry names.
std::optional<std::size_t> named(std::string_view entry, std::span<const std::size_t> left,
                                 std::span<const std::string> uuids) {
    if (entry.starts_with("GPU-")) {
        const auto begins = [&](std::size_t number) { return uuids[number].starts_with(entry); };
        const auto found = std::ranges::find_if(left, begins);
        if (found == left.end() || std::ranges::count_if(left, begins) > 1)
            return std::nullopt;
        return static_cast<std::size_t>(found - left.begin());
    }
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), number);
    return error == std::errc() && number < left.size() ? std::optional(number) : std::nullopt;
}

std::vector<std::size_t> chosen(std::string_view list, std::span<const std::size_t> left,
                                std::span<const std::string> uuids) {
    std::vector<std::size_t> numbers;
    for (std::size_t begin = 0; begin <= list.size();) {
        const std::size_t comma = std::min(list.find(',', begin), list.size());
        const auto place = named(trimmed(list.substr(begin, comma - begin)), left, uuids);
        begin = comma + 1;
        if (!place)
            break;
        if (std::ranges::find(numbers, left[*place]) != numbers.end())
            return {};
        numbers.push_back(left[*place]);
    }
    return numbers;
}

} // namespace

std::optional<VisibleDevices> visible_by_cuda_variables(std::span<const std::string> uuids) {
    if (!rekindle::switched_on("TORCH_RVK_FROM_CUDA"))
        return std::nullopt;
    VisibleDevices visible;
    visible.numbers.resize(uuids.size());
    std::iota(visible.numbers.begin(), visible.numbers.end(), std::size_t{0});
    const auto apply = [&](const char* name) {
        const char* const list = std::getenv(name);
        if (!list)
            return false;
        if (visible.variable.empty() || !visible.numbers.empty()) // names the first that hides all
            visible.variable = std::string(name) + "=\"" + list + '"';
        visible.numbers = chosen(list, visible.numbers, uuids);
        return true;
    };
    const bool by_driver = apply("ROCR_VISIBLE_DEVICES");
    const bool by_runtime = apply("HIP_VISIBLE_DEVICES") || apply("CUDA_VISIBLE_DEVICES");
    return by_driver || by_runtime ? std::optional(visible) : std::nullopt;
}

} // namespace rvk
