#pragma once
/// Formats GPU readings as rows of a table, as log lines and as CSV, and summarizes a run.

#include <rekindle/doctor/gpu_monitor.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace rekindle::cli {

/// Column titles and units for the rows of render_row().
std::string header_of_rows();
/// A row of the table for one GPU; "-" stands for a missing value.
std::string render_row(std::size_t index, const doctor::GpuReading& reading);
/// A line for a log, without the missing values: "GPU 0 Radeon RX 7900 XTX: load 98 %, memory …".
std::string render_line(std::size_t index, const doctor::GpuReading& reading);

/// docs/formats/doctor.md describes the columns.
std::string csv_header();
/// `time` is when the reading was taken, in ISO 8601; `seconds` is the time since the first reading.
std::string csv_row(const std::string& time, double seconds, std::size_t index,
                    const doctor::GpuReading& reading);

/// Explains missing values, each reason only once.
class MissingValues {
  public:
    /// The explanations that were not returned before: "GPU 0 (RX 6600): no hot spot temperature: …". With
    /// `second_follows`, leaves out values that only a second reading can give.
    std::vector<std::string> fresh(const doctor::MonitorSample& sample, bool second_follows);

  private:
    std::set<std::string> said_;
};

/// Collects the averages and maxima of a watched run.
class ReadingSummary {
  public:
    /// `seconds` is the time since the previous sample, 0 for the first one.
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
