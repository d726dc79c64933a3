#pragma once
/// Keeps what is logged, for the tests of repairs.

#include <rekindle/foundation/log.h>

#include <string>
#include <string_view>

namespace rekindle::doctor {

class LinesSink final : public LogSink {
  public:
    void log(LogLevel, std::string_view message) override { text += std::string(message) + "\n"; }
    std::string text;
};

} // namespace rekindle::doctor
