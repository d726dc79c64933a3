#include "document.h"

#include <rekindle/base/text.h>

#include <algorithm>
#include <array>

namespace rekindle::doctor {
namespace {

bool is_digit(char c) noexcept {
    return c >= '0' && c <= '9';
}

bool is_variable_character(char c) noexcept {
    return (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}

bool is_fence(std::string_view line) noexcept {
    return line.starts_with("```") || line.starts_with("~~~");
}

/// "- ", "1. ", "## ", "| ", "> ": a line that does not continue the one before it.
bool starts_item(std::string_view line) noexcept {
    if (line.empty())
        return false;
    if (line.front() == '#' || line.front() == '|' || line.front() == '>')
        return true;
    if (line.size() > 1 && line[1] == ' ' && (line[0] == '-' || line[0] == '*' || line[0] == '+'))
        return true;
    const std::size_t digits = std::min<std::size_t>(
        static_cast<std::size_t>(std::find_if_not(line.begin(), line.end(), is_digit) - line.begin()), 4);
    return digits > 0 && digits < line.size() && (line[digits] == '.' || line[digits] == ')');
}

bool looks_like_code(std::string_view line) noexcept {
    constexpr std::array<std::string_view, 40> words{
        "export",   "set",     "unset",  "sudo",  "pip",      "pip3", "python",  "python3",
        "uv",       "docker",  "podman", "conda", "mamba",    "apt",  "apt-get", "dnf",
        "pacman",   "yay",     "wget",   "curl",  "cat",      "rm",   "pkill",   "killall",
        "modprobe", "echo",    "import", "from",  "RUN",      "ENV",  "FROM",    "git",
        "cmake",    "options", "chmod",  "dpkg",  "rocminfo", "$",    "usermod", "source"};
    const std::string_view first = line.substr(0, line.find_first_of(" ."));
    const bool sentence = // not "from torch import nn"
        first == "from" && line.find(" import ") == std::string_view::npos;
    if ((std::find(words.begin(), words.end(), first) != words.end() && !sentence) ||
        line.starts_with("os.environ"))
        return true;
    const std::size_t name = static_cast<std::size_t>(
        std::find_if_not(line.begin(), line.end(), is_variable_character) - line.begin());
    return name > 2 && name < line.size() && line[name] == '=';
}

/// Collects lines until they make a block.
class BlockReader {
  public:
    BlockReader(std::string_view document, const std::function<bool(const Block&)>& visit)
        : document_(document), visit_(visit) {}

    void read() {
        std::size_t begin = 0;
        for (std::size_t line = 1; begin <= document_.size() && going_; ++line) {
            const std::size_t end = std::min(document_.find('\n', begin), document_.size());
            take(document_.substr(begin, end - begin), begin, line);
            begin = end + 1;
        }
        flush();
    }

  private:
    void take(std::string_view whole, std::size_t offset, std::size_t number) {
        const std::string_view line = trim(whole);
        if (!line.empty())
            offset += static_cast<std::size_t>(line.data() - whole.data());
        if (is_fence(line)) {
            flush();
            fenced_ = !fenced_;
            return;
        }
        const bool code = fenced_ || looks_like_code(line);
        if (!continued_ && (line.empty() || code || block_.code || starts_item(line)))
            flush();
        if (!line.empty())
            append(line, offset, number, code || (continued_ && block_.code));
        continued_ = line.ends_with('\\');
    }

    void append(std::string_view line, std::size_t offset, std::size_t number, bool code) {
        if (line.ends_with('\\'))
            line.remove_suffix(1);
        if (block_.text.empty())
            begin_block(number, code);
        else
            join(offset, number);
        for (std::size_t i = 0; i < line.size() && going_; ++i) {
            const std::size_t dropped = code ? 0 : markup_at(line, i);
            if (dropped > 0) {
                i += dropped - 1;
                continue;
            }
            const bool blank = line[i] == ' ' || line[i] == '\t' || line[i] == '\r';
            if (blank && (block_.text.empty() || block_.text.back() == ' '))
                continue;
            if (block_.text.size() >= block_limit) {
                flush();
                begin_block(number, code);
            }
            block_.text += blank ? ' ' : line[i];
            block_.origins.push_back(offset + i);
        }
    }

    void begin_block(std::size_t number, bool code) {
        block_.line = number;
        block_.code = code;
        last_line_ = number;
    }

    void join(std::size_t offset, std::size_t number) {
        if (block_.text.back() != ' ') {
            block_.text += ' ';
            block_.origins.push_back(offset);
        }
        for (; last_line_ < number; ++last_line_)
            block_.line_starts.push_back(block_.text.size());
    }

    /// Number of bytes of markup that begin at `i`: "**", "`", "[268]", "> " at the start.
    std::size_t markup_at(std::string_view line, std::size_t i) const noexcept {
        if (line[i] == '`')
            return 1;
        if (line.substr(i, 2) == "**")
            return 2;
        if (line[i] == '>' && i == 0)
            return 1;
        if (line[i] != '[')
            return 0;
        std::size_t end = i + 1;
        while (end < line.size() && end - i < 5 && is_digit(line[end]))
            ++end;
        return end > i + 1 && end < line.size() && line[end] == ']' ? end + 1 - i : 0;
    }

    void flush() {
        if (!block_.text.empty() && going_)
            going_ = visit_(block_);
        block_ = {};
        continued_ = false;
    }

    std::string_view document_;
    const std::function<bool(const Block&)>& visit_;
    Block block_;
    std::size_t last_line_ = 0;
    bool fenced_ = false;
    bool continued_ = false;
    bool going_ = true;
};

/// Length of the UTF-8 character that begins the text, or 0 when it is not one. Overlong forms and
/// surrogates do not count.
std::size_t character_length(std::string_view text) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned first = byte(0);
    const std::size_t length = first < 0x80                    ? 1
                               : first >= 0xC2 && first < 0xE0 ? 2
                               : (first & 0xF0U) == 0xE0       ? 3
                               : first >= 0xF0 && first < 0xF5 ? 4
                                                               : 0;
    if (length == 0 || length > text.size())
        return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xC0U) != 0x80)
            return 0;
    if (length == 3 && ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) >= 0xA0)))
        return 0;
    if (length == 4 && ((first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) >= 0x90)))
        return 0;
    return length;
}

} // namespace

std::size_t Block::line_of(std::size_t position) const noexcept {
    return line +
           static_cast<std::size_t>(std::upper_bound(line_starts.begin(), line_starts.end(), position) -
                                    line_starts.begin());
}

void for_each_block(std::string_view document, const std::function<bool(const Block&)>& visit) {
    BlockReader(document, visit).read();
}

std::string printable(std::string_view text, std::size_t limit) {
    std::string result;
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t length = character_length(text.substr(i));
        if (result.size() + std::max<std::size_t>(length, 1) > limit)
            return result + "…";
        const bool control = length == 1 && (static_cast<unsigned char>(text[i]) < 0x20 || text[i] == 0x7F);
        if (length == 0 || control)
            result += '?';
        else
            result += text.substr(i, length);
        i += std::max<std::size_t>(length, 1);
    }
    return result;
}

} // namespace rekindle::doctor
