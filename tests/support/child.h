#pragma once
/// For tests that need a separate process: another limit, another disk, or a kill.

#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rekindle::test {

/// The status that a child returns if this host does not allow the operation; the test is then skipped.
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

/// Mounts a disk of 256 KiB on the folder, in a mount namespace of this process: for a child. False if this
/// host does not allow it.
inline bool mount_small_disk(const std::filesystem::path& folder) {
    return ::unshare(::geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) == 0 &&
           ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=256k") == 0;
}

} // namespace rekindle::test
