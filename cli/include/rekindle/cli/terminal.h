#pragma once
/// Writes to the terminal, within what it can show.

#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

namespace rekindle::cli {

/// Looks up an environment variable; "" when it is not set. A parameter, so that tests need no real
/// environment.
using Environment = std::function<std::string(const std::string&)>;
/// The environment of the process.
std::string process_environment(const std::string& name);

/// The display capabilities of one output stream.
struct TerminalTraits {
    bool interactive = false; ///< a terminal on which a line can be rewritten (not TERM=dumb)
    bool color = false;       ///< interactive, and neither NO_COLOR nor TERM=dumb is set
    bool utf8 = false;        ///< LC_ALL, LC_CTYPE or LANG (the first that is set) names UTF-8
    std::size_t width = 80;   ///< columns: COLUMNS, else what the terminal says, else 80; at least 20
};

/// `descriptor` is that of the stream: 1 or 2.
TerminalTraits terminal_traits(int descriptor, const Environment& environment);

/// Standard output or error, in the characters that its terminal can show. Not thread-safe.
class Stream {
  public:
    Stream(std::FILE* file, TerminalTraits traits) noexcept : file_(file), traits_(traits) {}

    /// Writes text as it is, but in ASCII where the stream is not UTF-8.
    void write(std::string_view text);
    void line(std::string_view text);
    const TerminalTraits& traits() const noexcept { return traits_; }
    /// The current width: a terminal may be resized while a job runs.
    std::size_t current_width() const;
    void flush();
    /// Whether all writes so far succeeded (detects a full disk or a closed pipe).
    bool good();

  private:
    std::FILE* file_;
    TerminalTraits traits_;
};

} // namespace rekindle::cli
