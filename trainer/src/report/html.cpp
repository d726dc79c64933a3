#include "html.h"

#include <array>
#include <charconv>
#include <cmath>

namespace rekindle::trainer {

std::string escaped(std::string_view text) {
    std::string result;
    result.reserve(text.size());
    for (const char character : text) {
        switch (character) {
        case '&':
            result += "&amp;";
            break;
        case '<':
            result += "&lt;";
            break;
        case '>':
            result += "&gt;";
            break;
        case '"':
            result += "&quot;";
            break;
        case '\'':
            result += "&#39;";
            break;
        default:
            if (static_cast<unsigned char>(character) < 0x20 && character != '\n' && character != '\t')
                result += "\xef\xbf\xbd";
            else
                result += character;
        }
    }
    return result;
}

std::string coordinate(double value) {
    std::array<char, 32> buffer{};
    const double rounded = std::isfinite(value) ? std::round(value * 100) / 100 + 0.0 : 0.0;
    const auto [end, error] =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), rounded, std::chars_format::general);
    return error == std::errc() ? std::string(buffer.data(), end) : "0";
}

} // namespace rekindle::trainer
