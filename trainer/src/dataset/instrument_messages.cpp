#include "instrument_messages.h"

#include <fmt/format.h>

#include <algorithm>

namespace rekindle::trainer {

void InstrumentMessages::begin(const std::string& instrument) {
    const std::lock_guard lock(mutex_);
    instrument_ = instrument;
}

void InstrumentMessages::log(LogLevel level, std::string_view message) {
    const std::lock_guard lock(mutex_);
    auto found = std::ranges::find_if(
        messages_, [&](const Message& one) { return one.level == level && one.text == message; });
    if (found == messages_.end())
        found = messages_.insert(found, {level, std::string(message), {}});
    if (found->instruments.empty() || found->instruments.back() != instrument_)
        found->instruments.push_back(instrument_);
}

void InstrumentMessages::report() {
    const std::lock_guard lock(mutex_);
    for (const Message& message : messages_)
        next_.log(message.level,
                  message.instruments.front().empty()
                      ? message.text
                      : fmt::format("{}: {}", list_of_instruments(message.instruments), message.text));
    messages_.clear();
}

std::string list_of_instruments(const std::vector<std::string>& names) {
    constexpr std::size_t listed = 3;
    std::string text;
    for (std::size_t i = 0; i < std::min(listed, names.size()); ++i)
        text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
    if (names.size() > listed)
        text += fmt::format(" and {} more", names.size() - listed);
    return text;
}

} // namespace rekindle::trainer
