#include <rekindle/cli/terminal.h>
#include <rekindle/cli/text_layout.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <sys/ioctl.h>
#include <unistd.h>

namespace rekindle::cli {

namespace {

constexpr std::size_t min_width = 20;

std::size_t width_of_terminal(int descriptor) {
    winsize size{};
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::size_t parse_columns(const std::string& text) {
    std::size_t columns = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
    return error == std::errc{} && end == text.data() + text.size() ? columns : 0;
}

bool names_utf8(std::string locale) {
    std::transform(locale.begin(), locale.end(), locale.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
}

} // namespace

std::string process_environment(const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? "" : value;
}

TerminalTraits terminal_traits(int descriptor, const Environment& environment) {
    TerminalTraits traits;
    traits.interactive = isatty(descriptor) == 1 && environment("TERM") != "dumb";
    traits.color = traits.interactive && environment("NO_COLOR").empty();
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
        if (const std::string locale = environment(name); !locale.empty()) {
            traits.utf8 = names_utf8(locale);
            break;
        }
    std::size_t width = parse_columns(environment("COLUMNS"));
    if (width == 0)
        width = width_of_terminal(descriptor);
    traits.width = width == 0 ? 80 : std::max(width, min_width);
    return traits;
}

void Stream::write(std::string_view text) {
    const std::string shown = traits_.utf8 ? std::string(text) : to_ascii(text);
    std::fwrite(shown.data(), 1, shown.size(), file_);
}

void Stream::line(std::string_view text) {
    write(text);
    write("\n");
}

std::size_t Stream::current_width() const {
    const std::size_t width = width_of_terminal(fileno(file_));
    return width == 0 ? traits_.width : std::max(width, min_width);
}

void Stream::flush() {
    std::fflush(file_);
}

bool Stream::good() {
    return std::fflush(file_) == 0 && std::ferror(file_) == 0;
}

} // namespace rekindle::cli
