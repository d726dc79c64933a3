#pragma once
/// A process of this program that only reads, so that its parent can continue when a read hangs.

#include <rekindle/foundation/file.h>

#include <functional>
#include <sys/types.h>

namespace rekindle::doctor {

/// Starts on construction; killed by its pid on destruction. A child that cannot die, because it is inside
/// a driver that hangs, is left behind: it keeps nothing of its parent's open.
class ReadingChild {
  public:
    /// `work` runs in the child with its end of a socket. It must not return to the parent's code: the
    /// child ends with it. The child has one thread; locks that other threads of the parent held stay
    /// locked in it (glibc's allocator is safe).
    explicit ReadingChild(const std::function<void(int socket)>& work);
    ReadingChild(const ReadingChild&) = delete;
    ReadingChild& operator=(const ReadingChild&) = delete;
    ~ReadingChild();

    int error() const noexcept { return error_; } ///< errno, when there is no child
    int socket() const noexcept { return socket_.get(); }

  private:
    pid_t pid_ = -1;
    int error_ = 0;
    FileDescriptor socket_;
};

} // namespace rekindle::doctor
