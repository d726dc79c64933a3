#pragma once
/// Whether code is killed by a signal, found out in a copy of the process that does nothing else. Unlike a
/// death test it runs nothing anew, which takes milliseconds; `code` may not use locks or threads.

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

namespace rekindle::runtime::test {

template <class Code>
bool crashes(Code code) {
    const pid_t child = ::fork();
    if (child == 0) {
        for (const int signal :
             {SIGSEGV, SIGBUS}) // a sanitizer's handler would report what is meant to happen
            std::signal(signal, SIG_DFL);
        code();
        ::_exit(0);
    }
    int status = 0;
    return child > 0 && ::waitpid(child, &status, 0) == child && WIFSIGNALED(status);
}

} // namespace rekindle::runtime::test
