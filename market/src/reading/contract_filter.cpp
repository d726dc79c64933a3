#include "reading/contract_filter.h"

#include <rekindle/base/text.h>

#include <cctype>
#include <utility>

namespace rekindle::market::reading {

namespace {

bool is_all(std::string_view text) {
    std::string lower;
    for (const char c : text)
        lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return lower == "all";
}

} // namespace

ContractFilter::ContractFilter(std::string_view beginnings, std::vector<std::string> exact)
    : exact_(std::move(exact)) {
    std::sort(exact_.begin(), exact_.end());
    if (is_all(beginnings))
        return;
    while (true) {
        const std::size_t comma = beginnings.find(',');
        if (const std::string_view one = trim(beginnings.substr(0, comma)); !one.empty())
            beginnings_.emplace_back(one);
        if (comma == std::string_view::npos)
            return;
        beginnings.remove_prefix(comma + 1);
    }
}

} // namespace rekindle::market::reading
