#include "gpu_readings.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>

namespace rekindle::cli {

namespace {

using doctor::Fact;
using doctor::GpuReading;
using doctor::MemoryHolder;

constexpr double gibibyte = 1024.0 * 1024 * 1024;
constexpr std::size_t holders_shown = 3;

std::string or_dash(const Fact<double>& value, int digits = 0) {
    return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

std::string gibibytes(const Fact<std::uint64_t>& bytes) {
    return bytes ? fmt::format("{:.1f}", double(*bytes) / gibibyte) : "-";
}

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
    return fmt::format("{}", fmt::join(parts, separator));
}

std::uint64_t held_bytes(const MemoryHolder& holder) {
    return holder.vram != 0 ? holder.vram : holder.gtt;
}

/// "python 4711 (19.8 GiB), Xorg 812"; the driver does not always report the size.
std::string render_holders(const std::vector<MemoryHolder>& holders) {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < std::min(holders.size(), holders_shown); ++i) {
        const MemoryHolder& holder = holders[i];
        const std::uint64_t bytes = held_bytes(holder);
        const std::string name = holder.command.empty() ? "process" : holder.command;
        texts.push_back(bytes == 0
                            ? fmt::format("{} {}", name, holder.pid)
                            : fmt::format("{} {} ({:.1f} GiB)", name, holder.pid, double(bytes) / gibibyte));
    }
    if (holders.size() > holders_shown)
        texts.push_back(fmt::format("{} more", holders.size() - holders_shown));
    return joined(texts, ", ");
}

std::string csv_text(std::string_view text) {
    if (text.find_first_of(",\"\n\r") == std::string_view::npos)
        return std::string(text);
    std::string result = "\"";
    for (const char letter : text)
        result += letter == '"' ? "\"\"" : std::string(1, letter);
    return result + "\"";
}

template <class T>
std::string csv_value(const Fact<T>& value) {
    return value ? fmt::format("{}", *value) : "";
}

std::string csv_holders(const std::vector<MemoryHolder>& holders) {
    std::vector<std::string> texts;
    texts.reserve(holders.size());
    for (const MemoryHolder& holder : holders) {
        const std::uint64_t bytes = held_bytes(holder);
        texts.push_back(bytes == 0 ? fmt::format("{} {}", holder.pid, holder.command)
                                   : fmt::format("{} {} {}", holder.pid, holder.command, bytes));
    }
    return joined(texts, ";");
}

/// Pairs of a missing value's name and the reason.
std::vector<std::pair<std::string, std::string>> missing_of(const GpuReading& reading) {
    std::vector<std::pair<std::string, std::string>> missing;
    const auto look = [&](const char* name, const auto& fact) {
        if (!fact)
            missing.emplace_back(name, fact.unread);
    };
    look("load", reading.load);
    look("memory in use", reading.memory_used);
    look("memory size", reading.memory_total);
    look("temperature", reading.temperature);
    look("hot spot temperature", reading.hotspot_temperature);
    look("power", reading.power);
    look("power limit", reading.power_limit);
    look("core clock", reading.core_clock);
    look("memory clock", reading.memory_clock);
    look("reasons for throttling", reading.throttling);
    look("memory errors", reading.memory_errors);
    look("PCIe replays", reading.pcie_replays);
    return missing;
}

} // namespace

std::string header_of_rows() {
    return "GPU load  memory GiB    °C  hot  W / limit  core MHz  mem MHz  limited by          processes";
}

std::string render_row(std::size_t index, const GpuReading& reading) {
    std::string limited = reading.throttling ? joined(*reading.throttling, ", ") : "-";
    if (limited.empty())
        limited = "nothing";
    return fmt::format("{:>3} {:>4} {:>5} / {:<5} {:>4} {:>4} {:>4} / {:<4} {:>8} {:>7}  {:<18}  {}", index,
                       reading.load ? or_dash(reading.load) + "%" : "-", gibibytes(reading.memory_used),
                       gibibytes(reading.memory_total), or_dash(reading.temperature),
                       or_dash(reading.hotspot_temperature), or_dash(reading.power),
                       or_dash(reading.power_limit), or_dash(reading.core_clock),
                       or_dash(reading.memory_clock), limited, render_holders(reading.holders));
}

std::string render_line(std::size_t index, const GpuReading& reading) {
    std::vector<std::string> parts;
    if (reading.load)
        parts.push_back(fmt::format("load {:.0f} %", *reading.load));
    if (reading.memory_used)
        parts.push_back(fmt::format("memory {} of {} GiB", gibibytes(reading.memory_used),
                                    gibibytes(reading.memory_total)));
    if (reading.temperature)
        parts.push_back(fmt::format("{:.0f} °C", *reading.temperature));
    if (reading.power)
        parts.push_back(fmt::format("{:.0f} W", *reading.power));
    if (reading.core_clock)
        parts.push_back(fmt::format("{:.0f} MHz", *reading.core_clock));
    if (reading.throttling && !reading.throttling->empty())
        parts.push_back("limited by " + joined(*reading.throttling, " and "));
    if (!reading.holders.empty())
        parts.push_back("memory held by " + render_holders(reading.holders));
    return fmt::format("GPU {} {}: {}", index, reading.name,
                       parts.empty() ? "no values" : joined(parts, ", "));
}

std::string csv_header() {
    return "time,seconds,gpu,address,name,load_percent,memory_used_bytes,memory_total_bytes,"
           "temperature_celsius,hotspot_celsius,power_watts,power_limit_watts,core_clock_mhz,"
           "memory_clock_mhz,throttling,memory_errors,pcie_replays,processes";
}

std::string csv_row(const std::string& time, double seconds, std::size_t index, const GpuReading& reading) {
    // "none" means that nothing limits the clocks; an empty field means that this is unknown.
    std::string throttling = reading.throttling ? joined(*reading.throttling, ";") : "";
    if (reading.throttling && throttling.empty())
        throttling = "none";
    return fmt::format("{},{:.3f},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", time, seconds, index,
                       reading.address, csv_text(reading.name), csv_value(reading.load),
                       csv_value(reading.memory_used), csv_value(reading.memory_total),
                       csv_value(reading.temperature), csv_value(reading.hotspot_temperature),
                       csv_value(reading.power), csv_value(reading.power_limit),
                       csv_value(reading.core_clock), csv_value(reading.memory_clock), throttling,
                       csv_value(reading.memory_errors), csv_value(reading.pcie_replays),
                       csv_text(csv_holders(reading.holders)));
}

std::vector<std::string> MissingValues::fresh(const doctor::MonitorSample& sample, bool second_follows) {
    std::vector<std::string> lines;
    for (const std::string& limit : sample.limits)
        if (said_.insert(limit).second)
            lines.push_back(limit);
    for (std::size_t i = 0; i < sample.gpus.size(); ++i) {
        std::map<std::string, std::vector<std::string>> names; // reason → values
        for (const auto& [name, reason] : missing_of(sample.gpus[i])) {
            if (second_follows && reason == doctor::needs_two_readings)
                continue;
            if (said_.insert(fmt::format("{}/{}/{}", i, name, reason)).second)
                names[reason].push_back(name);
        }
        for (const auto& [reason, values] : names)
            lines.push_back(
                fmt::format("GPU {} ({}): no {}: {}", i, sample.gpus[i].name, joined(values, ", "), reason));
    }
    return lines;
}

void ReadingSummary::Values::add(const Fact<double>& value) {
    if (!value)
        return;
    sum += *value;
    highest = std::max(highest, *value);
    ++count;
}

void ReadingSummary::add(const doctor::MonitorSample& sample, double seconds) {
    for (std::size_t i = 0; i < sample.gpus.size(); ++i) {
        const GpuReading& reading = sample.gpus[i];
        Gpu& gpu = gpus_[i];
        gpu.name = reading.name;
        ++gpu.samples;
        gpu.load.add(reading.load);
        if (reading.memory_used)
            gpu.memory.add(Fact<double>(double(*reading.memory_used) / gibibyte, ""));
        gpu.temperature.add(reading.temperature);
        gpu.power.add(reading.power);
        gpu.joules += reading.power.value_or(0) * seconds;
        for (const std::string& reason : reading.throttling.value_or({}))
            ++gpu.throttled[reason];
    }
}

std::vector<std::string> ReadingSummary::lines() const {
    std::vector<std::string> lines;
    for (const auto& [index, gpu] : gpus_) {
        std::vector<std::string> parts;
        const auto mean = [](const Values& values) { return values.sum / double(values.count); };
        if (gpu.load.count > 0)
            parts.push_back(
                fmt::format("load {:.0f} % on average, {:.0f} % at most", mean(gpu.load), gpu.load.highest));
        if (gpu.memory.count > 0)
            parts.push_back(fmt::format("memory at most {:.1f} GiB", gpu.memory.highest));
        if (gpu.temperature.count > 0)
            parts.push_back(fmt::format("at most {:.0f} °C", gpu.temperature.highest));
        if (gpu.power.count > 0)
            parts.push_back(
                fmt::format("{:.0f} W on average, {:.1f} Wh", mean(gpu.power), gpu.joules / 3600));
        for (const auto& [reason, samples] : gpu.throttled)
            parts.push_back(fmt::format("limited by {} in {:.0f} % of the readings", reason,
                                        100.0 * double(samples) / double(gpu.samples)));
        lines.push_back(fmt::format("GPU {} {}, {}: {}", index, gpu.name, counted(gpu.samples, "reading"),
                                    parts.empty() ? "no values" : joined(parts, ", ")));
    }
    return lines;
}

} // namespace rekindle::cli
