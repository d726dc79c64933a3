#pragma once
/// REKINDLE_AUTOTUNE=1: chooses plans by measurement.

#include <rekindle/runtime/device.h>
#include <rekindle/runtime/tuning.h>

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace rekindle::products {

/// Whether the environment requests tuning.
bool tuning_is_on();

/// The choices of one device: for products, convolutions and attention. Thread-safe; other threads wait
/// while one measures.
class Tuner {
  public:
    /// Creates the ways to compute something, the default first. Their results are compared with the
    /// default's before they are timed. Called only when a measurement is due; an empty list means that
    /// nothing can be measured now.
    using MakeCandidates = std::function<std::vector<runtime::Candidate>()>;

    /// Reads the stored choices. log: gets a warning if the file cannot be read or written or if a
    /// candidate's result is wrong, and a line for each measurement (LogLevel::info).
    Tuner(const runtime::DeviceInfo& device, runtime::LogCallback log);

    /// The index of the fastest of the candidates called `names`. Measures at the first call with this key,
    /// unless the choice is stored. Once this process has measured 512 times, chooses 0 instead of measuring.
    /// `stream`: what the candidates queue their work on. key: one line, no tab.
    std::size_t choose(runtime::Stream& stream, const std::string& key, const std::vector<std::string>& names,
                       const MakeCandidates& make_candidates);

  private:
    std::size_t measure(runtime::Stream& stream, const std::string& key,
                        const std::vector<runtime::Candidate>& candidates);

    void report_problem(const std::string& consequence);

    std::string device_name_;
    runtime::LogCallback log_;
    std::string reported_;
    std::mutex mutex_;
    runtime::TuningStore store_;
    std::unordered_map<std::string, std::size_t> choices_;
    int measured_ = 0;
};

} // namespace rekindle::products
