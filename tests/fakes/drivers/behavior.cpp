#include "behavior.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <unistd.h>

namespace fake_driver {

namespace {

/// The word after "function=" in REKINDLE_FAKE_DRIVER.
std::string behavior_of(std::string_view function) {
    const char* variable = std::getenv("REKINDLE_FAKE_DRIVER");
    std::string_view rest = variable != nullptr ? variable : "";
    while (!rest.empty()) {
        const std::string_view word = rest.substr(0, rest.find(' '));
        rest.remove_prefix(word.size() < rest.size() ? word.size() + 1 : word.size());
        const std::size_t equals = word.find('=');
        if (equals != std::string_view::npos && word.substr(0, equals) == function)
            return std::string(word.substr(equals + 1));
    }
    return {};
}

[[noreturn]] void die_by(int signal) {
    std::signal(signal, SIG_DFL); // a sanitizer may have its own handler
    std::raise(signal);
    ::_exit(1);
}

[[noreturn]] void hang() {
    std::signal(SIGTERM, SIG_IGN);
    for (;;)
        ::pause();
}

[[noreturn]] void flood() {
    for (;;)
        std::fputs("amdgpu: the same line again\n", stderr);
}

} // namespace

int behave(const char* function) {
    const std::string behavior = behavior_of(function);
    if (behavior == "hang")
        hang();
    if (behavior == "flood")
        flood();
    if (behavior == "crash")
        die_by(SIGSEGV);
    if (behavior == "abort") {
        std::fputs("Memory access fault by GPU node-1\n", stderr);
        die_by(SIGABRT);
    }
    if (behavior == "exit")
        ::_exit(3);
    return std::atoi(behavior.c_str());
}

bool wrong(const char* function) {
    return behavior_of(function) == "wrong";
}

int device_count() {
    const char* variable = std::getenv("REKINDLE_FAKE_DEVICES");
    return variable != nullptr ? std::atoi(variable) : 2;
}

} // namespace fake_driver
