#pragma once
/// The streams of a command: what it writes goes on to this program's streams and into a log.

#include <rekindle/base/file.h>
#include <rekindle/doctor/diagnosis.h>

#include <poll.h>
#include <vector>

namespace rekindle::doctor {

/// One stream. Where this program's stream is a terminal, the command sees a terminal of the same size.
class OutputChannel {
  public:
    /// `descriptor`: this program's stream. Throws Error if no pipe or terminal can be had.
    explicit OutputChannel(int descriptor);

    int far_end() const noexcept { return far_end_.get(); }
    void close_far_end() noexcept { far_end_ = FileDescriptor(); }
    int near_end() const noexcept { return near_end_.get(); }
    bool open() const noexcept { return static_cast<bool>(near_end_); }
    /// Copies what is there, at most 64 KiB. Returns whether there was anything. Closes the near end when
    /// the command has closed its end, or when this program's stream can no longer be written.
    bool copy(LogCollector& log);
    void follow_window_size() const;

  private:
    int descriptor_;
    bool terminal_;
    FileDescriptor near_end_;
    FileDescriptor far_end_;
};

/// Standard output and error; one channel for both where both go to the same place, so that their order is
/// kept.
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
