#include "reading/row_problem.h"

#include "reading/number.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

namespace rekindle::market::reading {

std::string shown(std::string_view text) {
    std::string result;
    for (const char c : text.substr(0, 40))
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
            result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        else
            result += c;
    return text.size() > 40 ? result + "…" : result;
}

Problem missing_or_malformed(std::size_t field, std::string_view name, std::string_view text) {
    if (is_missing_value(text))
        return {field,
                fmt::format("the {} is missing{}", name,
                            trim(text).empty() ? "" : fmt::format(" ({})", shown(trim(text)))),
                "a number"};
    return {field, fmt::format("the {} \"{}\" is not a number", name, shown(text)),
            "a decimal number such as 4527.25"};
}

} // namespace rekindle::market::reading
