#pragma once
/// Checks whether code is killed by a signal, in a fork of the process that does nothing else. Unlike a death
/// test it does not rerun anything, so it takes milliseconds; `code` must not use locks or threads.

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

namespace rekindle::runtime::test {

template <class Code>
bool crashes(Code code) {
    const pid_t child = ::fork();
    if (child == 0) {
        for (const int signal : {SIGSEGV, SIGBUS}) // a sanitizer's handler would report the expected crash
            std::signal(signal, SIG_DFL);
        code();
        ::_exit(0);
    }
    int status = 0;
    return child > 0 && ::waitpid(child, &status, 0) == child && WIFSIGNALED(status);
}

} // namespace rekindle::runtime::test
