#pragma once
/// For tests that need a process of their own: another limit, another disk, or a kill.

#include <cstdio>
#include <exception>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

namespace rekindle::test {

/// What a child returns if this host does not allow what it tries; the test is then skipped.
constexpr int not_possible_here = 77;

/// Runs the body in a child process; returns the child's exit status, 70 after an exception, or -1 if it was
/// killed.
inline int in_child(const std::function<int()>& body) {
    const pid_t child = ::fork();
    if (child == 0) {
        int status = 70;
        try {
            status = body();
        } catch (const std::exception& error) {
            std::fprintf(stderr, "%s\n", error.what());
        }
        ::_exit(status);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

} // namespace rekindle::test
