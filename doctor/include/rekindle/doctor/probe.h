#pragma once
/// Runs tests, each in a child process with a deadline, so that a crash or a hang is a result. This process
/// itself never loads a driver's library.

#include <rekindle/doctor/facts.h>

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

enum class ProbeStatus { passed, failed, crashed, timed_out, skipped };

struct ProbeResult {
    /// "hip-init", "blas-handle", "hiprtc-vector-add", "rccl", "rccl-two-gpus", "cuda-driver",
    /// "cuda-vector-add", "vulkan-devices", "vulkan-self-test"; for PyTorch "python-import" and its
    /// siblings (listed in doctor/data/torch_probes.py).
    std::string id;
    /// Gpu::address where the library reports it, else the ordinal as the library counts ("hip:0") or
    /// PyTorch's name of the device ("cpu"). "" means the library itself, before any device.
    std::string device;
    ProbeStatus status = ProbeStatus::skipped;
    std::string reason; ///< of a skip or a failure, one sentence
    std::string code;   ///< status of the library: "hipErrorNoDevice (100)"
    double seconds = 0;
    int exit_status = 0; ///< of the child
    int signal = 0;      ///< the signal that ended the child
    std::string errors;  ///< the last 4 KiB that it wrote to standard error and output, as valid UTF-8
    /// "devices": "2", "library": path, "ordinal": "hip:0", "vram_before": "12345", …
    std::map<std::string, std::string> values;
    friend bool operator==(const ProbeResult&, const ProbeResult&) = default;
};

enum class ProbeLevel {
    none,
    safe, ///< nothing that has hung a GPU before: a GPU whose kernel log shows a hang or reset is skipped
    all,
};

struct ProbeOptions {
    ProbeLevel level = ProbeLevel::safe;
    std::string python;                                ///< interpreter for the PyTorch probes; "" for none
    std::chrono::milliseconds deadline{5000};          ///< of each step of a child that is not Python
    std::chrono::milliseconds python_deadline{120000}; ///< of each PyTorch probe
    std::string library_folder; ///< where HIP and its libraries are looked for first (tests)
    /// Device of the PyTorch probes: "cpu", "rvk", "cuda:1"; "": every GPU that the wheel offers, else
    /// "cpu".
    std::string python_device;
    /// The program that is started for a probe; its main() calls run_probe_child first.
    std::string program = "/proc/self/exe";
};

/// Runs the probes that make sense on this host, in order; none for ProbeLevel::none. Never throws because
/// of what a child does. A child that exceeds its deadline is killed by its pid. Other threads may run as
/// long as none changes the environment.
std::vector<ProbeResult> run_probes(const Facts& facts, const ProbeOptions& options);

/// For the child: when `argv` asks for a probe ("--rekindle-probe NAME …"), runs it and ends the process
/// without the exit handlers of the libraries that it loaded; otherwise returns false immediately. Call it
/// first in main().
bool run_probe_child(int argc, char** argv);

} // namespace rekindle::doctor
