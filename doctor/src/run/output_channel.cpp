#include "run/output_channel.h"

#include <rekindle/foundation/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <pty.h>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rekindle::doctor {

namespace {

constexpr std::size_t copied_at_once = 64UL * 1024;

void close_on_exec(int descriptor) {
    ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

bool same_place(int one, int other) {
    struct stat first {};
    struct stat second {};
    return ::fstat(one, &first) == 0 && ::fstat(other, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

/// Returns whether all bytes were written.
bool write_all(int descriptor, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
        if (count < 0 && errno == EAGAIN) { // another program made this terminal or pipe non-blocking
            pollfd wait{descriptor, POLLOUT, 0};
            ::poll(&wait, 1, -1);
            continue;
        }
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return false;
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

} // namespace

OutputChannel::OutputChannel(int descriptor) : descriptor_(descriptor), terminal_(::isatty(descriptor) == 1) {
    std::array<int, 2> ends{-1, -1};
    const bool made = terminal_ ? ::openpty(&ends[0], &ends[1], nullptr, nullptr, nullptr) == 0
                                : ::pipe2(ends.data(), O_CLOEXEC) == 0;
    if (!made)
        throw Error(fmt::format("cannot read the output of the command: {}", std::strerror(errno)));
    near_end_ = FileDescriptor(ends[0]);
    far_end_ = FileDescriptor(ends[1]);
    close_on_exec(ends[0]);
    close_on_exec(ends[1]);
    ::fcntl(ends[0], F_SETFL, ::fcntl(ends[0], F_GETFL) | O_NONBLOCK);
    if (!terminal_)
        return;
    termios mode{};
    if (::tcgetattr(ends[1], &mode) == 0) {
        mode.c_oflag &= ~static_cast<tcflag_t>(OPOST); // otherwise both terminals would expand line feeds
        ::tcsetattr(ends[1], TCSANOW, &mode);
    }
    follow_window_size();
}

void OutputChannel::follow_window_size() const {
    winsize size{};
    if (terminal_ && ::ioctl(descriptor_, TIOCGWINSZ, &size) == 0)
        ::ioctl(near_end_.get(), TIOCSWINSZ, &size);
}

bool OutputChannel::copy(LogCollector& log) {
    std::array<char, copied_at_once> buffer{};
    const ssize_t count = near_end_ ? ::read(near_end_.get(), buffer.data(), buffer.size()) : 0;
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (count <= 0) { // end of file; a pseudoterminal reports EIO instead
        near_end_ = FileDescriptor();
        return false;
    }
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
    log.append(bytes);
    if (!write_all(descriptor_, bytes)) // so that the command sees a closed pipe too
        near_end_ = FileDescriptor();
    return true;
}

OutputChannels::OutputChannels(bool output_to_errors) {
    channels_.reserve(2);
    channels_.emplace_back(output_to_errors ? STDERR_FILENO : STDOUT_FILENO);
    if (!output_to_errors && !same_place(STDOUT_FILENO, STDERR_FILENO))
        channels_.emplace_back(STDERR_FILENO);
}

void OutputChannels::close_far_ends() noexcept {
    for (OutputChannel& channel : channels_)
        channel.close_far_end();
}

bool OutputChannels::open() const noexcept {
    return std::any_of(channels_.begin(), channels_.end(),
                       [](const OutputChannel& one) { return one.open(); });
}

void OutputChannels::add_to(std::vector<pollfd>& polled) const {
    for (const OutputChannel& channel : channels_)
        if (channel.open())
            polled.push_back({channel.near_end(), POLLIN, 0});
}

bool OutputChannels::copy(LogCollector& log) {
    bool any = false;
    for (OutputChannel& channel : channels_)
        any = channel.copy(log) || any;
    return any;
}

void OutputChannels::follow_window_size() const {
    for (const OutputChannel& channel : channels_)
        channel.follow_window_size();
}

} // namespace rekindle::doctor
