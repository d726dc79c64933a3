#include "reading_child.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rekindle::doctor {

namespace {

constexpr int kept = 3;

/// A child that is left behind must not keep the other end of a pipe, or a terminal, open.
void keep_only(int socket) {
    socket = ::fcntl(socket, F_DUPFD, kept + 1); // it may be 0, 1 or 2 if the parent has none of these
    const int nothing = ::open("/dev/null", O_RDWR);
    for (const int standard : {0, 1, 2})
        ::dup2(nothing, standard);
    ::dup2(socket, kept);
    if (::close_range(kept + 1, ~0U, 0) != 0) // before Linux 5.9
        for (int other = kept + 1; other < 4096; ++other)
            ::close(other);
}

[[noreturn]] void become_reader(int socket, const std::function<void(int)>& work) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    keep_only(socket);
    try {
        work(kept);
    } catch (...) { // the parent sees that the connection ended
        ::_exit(1);
    }
    ::_exit(0);
}

} // namespace

ReadingChild::ReadingChild(const std::function<void(int socket)>& work) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        error_ = errno;
        return;
    }
    socket_ = FileDescriptor(ends[0]);
    const FileDescriptor theirs(ends[1]);
    pid_ = ::fork();
    if (pid_ == 0)
        become_reader(theirs.get(), work);
    error_ = pid_ < 0 ? errno : 0;
}

ReadingChild::~ReadingChild() {
    if (pid_ <= 0)
        return;
    ::kill(pid_, SIGKILL);
    for (int i = 0; i < 50 && ::waitpid(pid_, nullptr, WNOHANG) == 0; ++i)
        ::usleep(200);
}

} // namespace rekindle::doctor
