#include "watch/nvml_feed.h"

#include "host/host_files.h"
#include "probes/probe_child.h"
#include "probes/probe_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rekindle::doctor {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds wait_for_start{2000};
/// A reading is outdated when it is older than this and older than three intervals.
constexpr std::chrono::milliseconds oldest_reading{5000};
constexpr std::size_t longest_line = 1 << 16;

struct ReasonBit {
    unsigned long long mask;
    const char* reason;
};
/// Source: NVIDIA, NVML API Reference, nvmlClocksThrottleReasons.
constexpr std::array reason_bits{ReasonBit{0x4, "power"},        ReasonBit{0x8, "hardware slowdown"},
                                 ReasonBit{0x10, "sync boost"},  ReasonBit{0x20, "temperature"},
                                 ReasonBit{0x40, "temperature"}, ReasonBit{0x80, "external power brake"}};

template <class T>
Fact<T> value_of(const ProbeResult& device, const std::string& key) {
    const auto found = device.values.find(key);
    if (found != device.values.end()) {
        T value{};
        const char* const end = found->second.data() + found->second.size();
        if (std::from_chars(found->second.data(), end, value).ec == std::errc{})
            return {value, "NVML"};
    }
    for (const std::string& why : {"?" + key, std::string("?")})
        if (const auto reason = device.values.find(why); reason != device.values.end())
            return Fact<T>::failed(reason->second, "NVML");
    return Fact<T>::failed("NVML does not report it", "NVML");
}

std::vector<MemoryHolder> holders_of(const ProbeResult& device) {
    constexpr std::string_view prefix = "process ";
    std::vector<MemoryHolder> holders;
    for (const auto& [key, bytes] : device.values)
        if (key.starts_with(prefix))
            holders.push_back({.pid = parse_number<std::int64_t>(key.substr(prefix.size())).value_or(0),
                               .vram = parse_number<std::uint64_t>(bytes).value_or(0),
                               .source = "NVML"});
    return holders;
}

} // namespace

NvmlFeed::NvmlFeed(const MonitorOptions& options)
    : interval_(options.interval),
      child_(start_child(
          {.program = options.program,
           .arguments = {std::string(probe_option), "nvml-readings",
                         fmt::format("interval={}", options.interval.count()), "library=" + options.nvml}})) {
    if (child_.pid < 0) {
        ended_ = true;
        failure_ = child_.error;
    }
}

NvmlFeed::~NvmlFeed() {
    if (child_.pid <= 0 || ended_)
        return;
    ::kill(child_.pid, SIGKILL);
    // A child that is blocked inside the kernel driver cannot die. Wait 100 ms, then leave it behind.
    for (int i = 0; i < 50 && ::waitpid(child_.pid, nullptr, WNOHANG) == 0; ++i)
        ::usleep(2000);
}

const std::vector<ProbeResult>& NvmlFeed::newest() {
    take_lines();
    if (last_ == Clock::time_point{} && !ended_)
        wait_for_first();
    return newest_;
}

void NvmlFeed::wait_for_first() {
    const Clock::time_point deadline = Clock::now() + wait_for_start;
    while (last_ == Clock::time_point{} && !ended_ && Clock::now() < deadline) {
        pollfd ready{child_.results.get(), POLLIN, 0};
        ::poll(&ready, 1, 50);
        take_lines();
    }
}

std::string NvmlFeed::problem() const {
    if (ended_)
        return failure_;
    const auto age = Clock::now() - last_;
    if (last_ != Clock::time_point{} && age <= std::max(oldest_reading, 3 * interval_))
        return "";
    return step_.empty() ? "NVML does not answer"
                         : fmt::format("NVML does not answer: {} has not returned", step_);
}

void NvmlFeed::take_lines() {
    std::array<char, 16384> buffer{};
    while (!ended_) {
        const ssize_t count = ::read(child_.results.get(), buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            break;
        if (count == 0) {
            int status = 0;
            ::waitpid(child_.pid, &status, 0);
            ended_ = true;
            if (failure_.empty())
                failure_ = fmt::format("NVML crashed in {}", step_.empty() ? "its start" : step_);
            break;
        }
        unfinished_.append(buffer.data(), static_cast<std::size_t>(count));
        std::size_t begin = 0;
        for (std::size_t end = 0; (end = unfinished_.find('\n', begin)) != std::string::npos; begin = end + 1)
            take_line(std::string_view(unfinished_).substr(begin, end - begin));
        unfinished_.erase(0, begin);
        if (unfinished_.size() > longest_line)
            unfinished_.clear();
    }
    // Discard what the library prints: a full pipe would block it.
    while (child_.output && ::read(child_.output.get(), buffer.data(), buffer.size()) > 0)
        ;
}

void NvmlFeed::take_line(std::string_view text) {
    ProbeLine line;
    try {
        line = parse_probe_line(text);
    } catch (const std::exception&) {
        return; // the library can write anything to this descriptor
    }
    if (!line.result) {
        step_ = line.step;
    } else if (line.result->status != ProbeStatus::passed) {
        absent_ = line.result->status == ProbeStatus::skipped;
        failure_ = line.result->code.empty() ? line.result->reason
                                             : fmt::format("{}: {}", line.result->reason, line.result->code);
    } else if (!line.result->device.empty()) {
        incoming_.push_back(std::move(*line.result));
    } else {
        newest_ = std::exchange(incoming_, {});
        last_ = Clock::now();
    }
}

void read_from_nvml(const ProbeResult& device, GpuReading& reading) {
    reading.load = value_of<double>(device, "load");
    reading.memory_used = value_of<std::uint64_t>(device, "memory_used");
    reading.memory_total = value_of<std::uint64_t>(device, "memory_total");
    reading.temperature = value_of<double>(device, "temperature");
    reading.hotspot_temperature = Fact<double>::failed("NVML does not report it", "NVML");
    reading.power = value_of<double>(device, "power");
    reading.power_limit = value_of<double>(device, "power_limit");
    reading.core_clock = value_of<double>(device, "core_clock");
    reading.memory_clock = value_of<double>(device, "memory_clock");
    const Fact<unsigned long long> mask = value_of<unsigned long long>(device, "throttling");
    reading.throttling = derive<std::vector<std::string>>(
        mask, [](unsigned long long bits) { return std::optional(nvml_throttling(bits)); });
    reading.memory_errors = value_of<std::uint64_t>(device, "memory_errors");
    reading.pcie_replays = value_of<std::uint64_t>(device, "pcie_replays");
    reading.holders = holders_of(device);
}

std::vector<std::string> nvml_throttling(unsigned long long mask) {
    std::vector<std::string> reasons;
    for (const ReasonBit& bit : reason_bits)
        if ((mask & bit.mask) != 0 && std::ranges::find(reasons, bit.reason) == reasons.end())
            reasons.emplace_back(bit.reason);
    return reasons;
}

} // namespace rekindle::doctor
