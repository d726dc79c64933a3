#include <rekindle/foundation/environment.h>
#include <rekindle/runtime/error.h>
#include <rekindle/runtime/test_mode.h>

#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

namespace rekindle::runtime {

namespace {

[[noreturn]] void invalid_value(const char* name, std::string_view value, const std::string& expected) {
    throw Error(std::string(name) + "=" + std::string(value) + " is invalid; expected " + expected);
}

template <class Number>
std::optional<Number> number_in(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

void read_fault(TestMode& mode) {
    constexpr const char* name = "REKINDLE_FAULT";
    constexpr const char* expected =
        "out-of-memory:N, device-lost:N, hang:N, wrong-answer:N or refused-kernel:N with N from 1, or N+";
    const std::string_view value = environment_text(name);
    if (value.empty())
        return;
    const std::size_t colon = value.find(':');
    if (colon == std::string_view::npos)
        invalid_value(name, value, expected);
    const std::string_view kind = value.substr(0, colon);
    if (kind == "out-of-memory")
        mode.fault = TestMode::Fault::out_of_memory;
    else if (kind == "device-lost")
        mode.fault = TestMode::Fault::device_lost;
    else if (kind == "hang")
        mode.fault = TestMode::Fault::hang;
    else if (kind == "wrong-answer")
        mode.fault = TestMode::Fault::wrong_answer;
    else if (kind == "refused-kernel")
        mode.fault = TestMode::Fault::refused_kernel;
    else
        invalid_value(name, value, expected);
    std::string_view count = value.substr(colon + 1);
    mode.fault_repeats = count.ends_with('+');
    if (mode.fault_repeats)
        count.remove_suffix(1);
    const auto at = number_in<std::uint64_t>(count);
    if (!at || *at == 0)
        invalid_value(name, value, expected);
    mode.fault_at = *at;
}

} // namespace

TestMode test_mode_from_environment() {
    TestMode mode;
    mode.poison = switched_on("REKINDLE_POISON");
    mode.guard_pages = switched_on("REKINDLE_GUARD_PAGES");
    mode.validation = switched_on("REKINDLE_VALIDATION");
    if (const std::string_view seed = environment_text("REKINDLE_RANDOM_ORDER"); !seed.empty()) {
        mode.random_order = number_in<std::uint64_t>(seed);
        if (!mode.random_order)
            invalid_value("REKINDLE_RANDOM_ORDER", seed, "a seed, an integer of at least 0");
    }
    if (const std::string_view seconds = environment_text("REKINDLE_WATCHDOG_SECONDS"); !seconds.empty()) {
        const auto value = number_in<double>(seconds);
        if (!value || !std::isfinite(*value) || *value <= 0)
            invalid_value("REKINDLE_WATCHDOG_SECONDS", seconds, "a number of seconds greater than 0");
        mode.watchdog_seconds = *value;
    }
    read_fault(mode);
    return mode;
}

} // namespace rekindle::runtime
