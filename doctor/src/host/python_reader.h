#pragma once
/// Reads the Python environments in a separate process while the host is read: home folders may be on a
/// file system that does not respond.

#include "reading_child.h"

#include <rekindle/doctor/facts.h>
#include <rekindle/doctor/host_options.h>

#include <chrono>
#include <optional>

namespace rekindle::doctor {

class PythonReader {
  public:
    /// Starts to read, unless `options` request no Python.
    explicit PythonReader(const HostOptions& options);

    /// Waits until the reading ends, at most `patience` after its start. Without a response facts.pythons
    /// stays empty and facts.notes says why.
    void finish(Facts& facts, std::chrono::milliseconds patience);

  private:
    std::chrono::steady_clock::time_point begin_;
    std::optional<ReadingChild> child_;
};

} // namespace rekindle::doctor
