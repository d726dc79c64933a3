#pragma once
/// The Python environments, read in a process of their own while the host is read: home folders may lie on a
/// file system that does not answer.

#include "reading_child.h"

#include <rekindle/doctor/facts.h>
#include <rekindle/doctor/host.h>

#include <chrono>
#include <optional>

namespace rekindle::doctor {

class PythonsApart {
  public:
    /// Starts to read, unless `options` ask for no Python.
    explicit PythonsApart(const HostOptions& options);

    /// Waits for the end of the reading, `patience` after its start at the longest. Without an answer
    /// facts.pythons stays empty and facts.notes says why.
    void finish(Facts& facts, std::chrono::milliseconds patience);

  private:
    std::chrono::steady_clock::time_point begin_;
    std::optional<ReadingChild> child_;
};

} // namespace rekindle::doctor
