#pragma once
/// Copies a command's output to this program's output and into a log.

#include <rekindle/doctor/diagnosis.h>
#include <rekindle/foundation/file.h>

#include <poll.h>
#include <vector>

namespace rekindle::doctor {

/// One output stream of a command: a pseudoterminal of the same size if this program's stream is a terminal,
/// otherwise a pipe.
class OutputChannel {
  public:
    /// `descriptor`: the stream of this program to copy to. Throws Error if no pipe or pseudoterminal can be
    /// created.
    explicit OutputChannel(int descriptor);

    int far_end() const noexcept { return far_end_.get(); }
    void close_far_end() noexcept { far_end_ = FileDescriptor(); }
    int near_end() const noexcept { return near_end_.get(); }
    bool open() const noexcept { return static_cast<bool>(near_end_); }
    /// Copies at most 64 KiB without waiting. Returns whether anything was copied. Closes the near end when
    /// the command has closed its end, or when writing to this program's stream fails.
    bool copy(LogCollector& log);
    void follow_window_size() const;

  private:
    int descriptor_;
    bool terminal_;
    FileDescriptor near_end_;
    FileDescriptor far_end_;
};

/// Standard output and standard error. They share one channel if both go to the same file or terminal, so
/// that their lines stay in order.
class OutputChannels {
  public:
    explicit OutputChannels(bool output_to_errors);

    int of_output() const noexcept { return channels_.front().far_end(); }
    int of_errors() const noexcept { return channels_.back().far_end(); }
    void close_far_ends() noexcept;
    bool open() const noexcept;
    void add_to(std::vector<pollfd>& polled) const;
    bool copy(LogCollector& log);
    void follow_window_size() const;

  private:
    std::vector<OutputChannel> channels_;
};

} // namespace rekindle::doctor
