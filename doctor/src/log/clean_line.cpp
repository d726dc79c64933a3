#include "log/clean_line.h"

#include "text/utf8.h"

#include <rekindle/base/text.h>

#include <algorithm>
#include <cctype>

namespace rekindle::doctor {
namespace {

constexpr char escape = '\x1b';
constexpr std::ptrdiff_t parts_limit = 256; ///< per line, so that endless carriage returns need little memory

bool is_continuation(unsigned char byte) noexcept {
    return (byte & 0xC0U) == 0x80U;
}

/// Number of bytes in the terminal sequence that starts with the escape character of `text` (ECMA-48: CSI,
/// OSC and the short ones).
std::size_t escape_length(std::string_view text) noexcept {
    if (text.size() < 2)
        return text.size();
    std::size_t i = 2;
    if (text[1] == '[') {
        while (i < text.size() && static_cast<unsigned char>(text[i]) >= 0x20U &&
               static_cast<unsigned char>(text[i]) < 0x40U)
            ++i;
        return i < text.size() && static_cast<unsigned char>(text[i]) < 0x7FU ? i + 1 : i;
    }
    if (text[1] == ']' || text[1] == 'P') {
        while (i < text.size() && text[i] != '\a' && text[i] != escape)
            ++i;
        if (i < text.size() && text[i] == escape)
            return std::min(i + 2, text.size());
        return std::min(i + 1, text.size());
    }
    if (text[1] == '(' || text[1] == ')')
        return std::min<std::size_t>(3, text.size());
    return 2;
}

void remove_last_character(std::string& text) {
    while (!text.empty() && is_continuation(static_cast<unsigned char>(text.back())))
        text.pop_back();
    if (!text.empty())
        text.pop_back();
}

/// Whether the byte is a printable ASCII character or a tab.
bool is_plain(char c) noexcept {
    const bool printable = static_cast<unsigned char>(c - 0x20) < 0x5F;
    return static_cast<bool>(static_cast<int>(printable) | static_cast<int>(c == '\t'));
}

/// Whether every byte is plain. Without branches, so that the compiler vectorizes it.
bool all_plain(std::string_view text) noexcept {
    unsigned special = 0;
    for (const char c : text)
        special |= is_plain(c) ? 0U : 1U;
    return special == 0;
}

void remove_trailing_blanks(std::string& text) {
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
        text.pop_back();
}

std::string clean_part(std::string_view part) {
    std::string out;
    out.reserve(std::min(part.size(), log_line_limit));
    for (std::size_t i = 0; i < part.size();) {
        const char byte = part[i];
        if (byte == escape) {
            i += escape_length(part.substr(i));
            continue;
        }
        if (byte == '\b') {
            remove_last_character(out);
            ++i;
            continue;
        }
        if (is_plain(byte)) {
            const auto run = static_cast<std::size_t>(
                std::find_if_not(part.begin() + i, part.end(), [](char c) { return is_plain(c); }) -
                (part.begin() + i));
            const std::size_t fitting = std::min(run, log_line_limit - out.size());
            out.append(part.substr(i, fitting));
            if (fitting < run)
                break;
            i += run;
            continue;
        }
        const std::size_t length = utf8_length(part.substr(i));
        const bool control = (static_cast<unsigned char>(byte) < 0x20U && byte != '\t') || byte == '\x7f';
        const bool shown = length > 0 && !control;
        if (out.size() + std::max<std::size_t>(length, 1) > log_line_limit)
            break;
        if (shown)
            out.append(part.substr(i, length));
        else
            out.push_back('?');
        i += std::max<std::size_t>(length, 1);
    }
    remove_trailing_blanks(out);
    return out;
}

bool draws_progress(std::string_view text) noexcept {
    for (const std::string_view mark : {"%|", "it/s", "s/it", "B/s", "━", "█"})
        if (text.find(mark) != std::string_view::npos)
            return true;
    const std::size_t percent = text.find('%');
    return percent != std::string_view::npos && percent > 0 &&
           std::isdigit(static_cast<unsigned char>(text[percent - 1])) != 0;
}

bool blank(std::string_view text) noexcept {
    return text.find_first_not_of(" \t") == std::string_view::npos;
}

void skip(std::string_view& text, std::string_view characters) noexcept {
    text.remove_prefix(std::min(text.find_first_not_of(characters), text.size()));
}

/// "[rank0]:", "[  12.345678]", "[2026-11-21 13:25:01,123]", "(EngineCore pid=12)".
bool skip_bracket(std::string_view& text) noexcept {
    const char close = text.front() == '[' ? ']' : text.front() == '(' ? ')' : '\0';
    if (close == '\0')
        return false;
    const std::size_t end = text.find(close);
    if (end == std::string_view::npos || end > 48)
        return false;
    const std::string_view inside = text.substr(1, end - 1);
    const bool counts = inside.find_first_of("0123456789") != std::string_view::npos;
    // "['AMD Radeon', …]" and "[drm]" belong to the message.
    if (!counts || inside.find_first_of("'\"") != std::string_view::npos)
        return false;
    text.remove_prefix(end + 1);
    skip(text, ": \t");
    return true;
}

bool is_of_stamp(char c) noexcept {
    switch (c) {
    case '-':
    case ':':
    case '.':
    case ',':
    case 'T':
    case 'Z':
    case '+':
    case '/':
        return true;
    default:
        return c >= '0' && c <= '9';
    }
}

/// "2026-11-21T13:25:01.123Z ", "13:25:01 ", "Nov 21 13:25:01 host program[12]: ".
bool skip_time(std::string_view& text) noexcept {
    static constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
    if (text.size() > 16 && text[3] == ' ' && text[9] == ':' && text[12] == ':' &&
        months.find(text.substr(0, 3)) != std::string_view::npos) {
        const std::size_t colon = text.find(": ", 15);
        text.remove_prefix(colon == std::string_view::npos || colon > 120 ? 15 : colon + 2);
        return true;
    }
    const auto end =
        static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_of_stamp) - text.begin());
    const std::string_view stamp = text.substr(0, end);
    if (stamp.size() < 8 || end == text.size() || (text[end] != ' ' && text[end] != '\t') ||
        std::count(stamp.begin(), stamp.end(), ':') + std::count(stamp.begin(), stamp.end(), '-') < 2)
        return false;
    text.remove_prefix(end);
    return true;
}

/// "web-1  | " from docker compose.
bool skip_service(std::string_view& text) noexcept {
    const std::size_t bar = text.substr(0, 40).find(" | ");
    if (bar == std::string_view::npos || bar == 0)
        return false;
    const std::string_view name = trim(text.substr(0, bar));
    if (name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") !=
        std::string_view::npos)
        return false;
    text.remove_prefix(bar + 3);
    return true;
}

} // namespace

std::vector<std::string> clean_line(std::string_view line) {
    std::vector<std::string> parts;
    while (line.ends_with('\r')) // from Windows; an empty part shows nothing
        line.remove_suffix(1);
    if (line.size() <= log_line_limit && all_plain(line)) {
        if (!blank(line)) {
            parts.emplace_back(line);
            remove_trailing_blanks(parts.back());
        }
        return parts;
    }
    std::size_t begin = 0;
    while (begin <= line.size()) {
        const std::size_t end = std::min(line.find('\r', begin), line.size());
        const std::string_view raw = line.substr(begin, end - begin);
        begin = end + 1;
        if (raw.empty())
            continue;
        std::string part = clean_part(raw);
        if (blank(part))
            continue;
        if (!parts.empty() && draws_progress(parts.back()))
            parts.pop_back();
        if (std::ssize(parts) == parts_limit)
            parts.erase(parts.begin(), parts.begin() + parts_limit / 2);
        parts.push_back(std::move(part));
    }
    return parts;
}

std::string_view without_prefix(std::string_view line) noexcept {
    std::string_view rest = line;
    for (int round = 0; round < 6; ++round) {
        skip(rest, " \t>");
        if (rest.empty() || !(skip_bracket(rest) || skip_time(rest) || skip_service(rest)))
            break;
    }
    skip(rest, " \t>");
    return rest;
}

} // namespace rekindle::doctor
