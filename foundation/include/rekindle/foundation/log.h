#pragma once
/// Messages from libraries to the user. Libraries never print; they report to a sink that the caller
/// provides.

#include <functional>
#include <string>
#include <string_view>

namespace rekindle {

enum class LogLevel { debug, info, warning, error };

/// Receives messages. Implementations are thread-safe. The message is one sentence, without a newline.
class LogSink {
  public:
    virtual ~LogSink() = default;
    virtual void log(LogLevel level, std::string_view message) = 0;

    void debug(std::string_view message) { log(LogLevel::debug, message); }
    void info(std::string_view message) { log(LogLevel::info, message); }
    void warning(std::string_view message) { log(LogLevel::warning, message); }
};

/// Discards all messages. Stateless.
class NullLogSink final : public LogSink {
  public:
    void log(LogLevel, std::string_view) override {}
};

} // namespace rekindle
