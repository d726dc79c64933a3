#pragma once
/// Readings of GPUs as text: rows of a table, lines, CSV, and the summary of a run.

#include <rekindle/doctor/gpu_monitor.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace rekindle::cli {

/// The line above the rows of render_row(), with the units.
std::string header_of_rows();
/// One GPU in one line; "-" for a value that is missing.
std::string render_row(std::size_t index, const doctor::GpuReading& reading);
/// The same for a log: "GPU 0 Radeon RX 7900 XTX: load 98 %, memory …"; leaves out what is missing.
std::string render_line(std::size_t index, const doctor::GpuReading& reading);

/// The columns that docs/formats/doctor.md describes.
std::string csv_header();
/// `time`: of the reading, in ISO 8601; `seconds`: since the first.
std::string csv_row(const std::string& time, double seconds, std::size_t index,
                    const doctor::GpuReading& reading);

/// Says once for each reason which values are missing.
class MissingValues {
  public:
    /// Reasons that were not returned before: "GPU 0 (RX 6600): no hot spot temperature: …".
    std::vector<std::string> fresh(const doctor::MonitorSample& sample, bool first_sample);

  private:
    std::set<std::string> said_;
};

/// Mean and extremes of a watched run.
class ReadingSummary {
  public:
    /// `seconds`: since the previous sample.
    void add(const doctor::MonitorSample& sample, double seconds);
    /// One line for each GPU; empty without a sample.
    std::vector<std::string> lines() const;

  private:
    struct Values {
        double sum = 0, highest = 0;
        std::uint64_t count = 0;
        void add(const doctor::Fact<double>& value);
    };
    struct Gpu {
        std::string name;
        Values load, memory, temperature, power;
        double joules = 0;
        std::uint64_t samples = 0;
        std::map<std::string, std::uint64_t> throttled; ///< reason → samples
    };
    std::map<std::size_t, Gpu> gpus_;
};

} // namespace rekindle::cli
