#pragma once
/// The whole result: as JSON (docs/formats/doctor.md) and with names removed.

#include <rekindle/doctor/diagnosis.h>
#include <rekindle/doctor/plan.h>

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// What a device can train with today.
struct DeviceStatus {
    std::string address;
    std::string name;   ///< for people: the model where it is known, else the PCI id
    std::string target; ///< "gfx1100", "sm_86", ""
    std::string memory; ///< "20.0 GiB, 19.4 GiB free"
    std::string rocm;   ///< "yes", "no: …", "not tried: …"
    std::string cuda;
    std::string vulkan;
};

struct Report {
    Facts facts;
    std::vector<ProbeResult> probes;
    std::vector<DeviceStatus> devices;
    std::string verdict;           ///< one sentence
    std::vector<Finding> findings; ///< best first; with a log, only what the log supports
    std::vector<Finding> besides;  ///< with a log: what the facts alone show about the host
    std::vector<std::string> ask;
    std::vector<std::string> noticed;
    Plan plan;
    std::string log;                    ///< name of the log that was read, "" for none
    Outcome outcome = Outcome::unknown; ///< of the run that wrote it
};

/// Applies rules and plan to what was read. `log` may be nullptr. A log that is not understood gives no
/// finding, whatever else is wrong on the host: that goes to `besides`.
Report make_report(Facts facts, std::vector<ProbeResult> probes, const LogText* log,
                   const Knowledge& knowledge);

/// Fills in what the host's files did not contain and a probe found: compute capability and memory of
/// NVIDIA GPUs. The source is then "probe ID". A value that was read stays. make_report() calls it too.
void add_probed_facts(Facts& facts, const std::vector<ProbeResult>& probes);

/// What each device can do, for `rekindle devices` and the screen. The CPU is the last row.
std::vector<DeviceStatus> device_table(const Facts& facts, const std::vector<ProbeResult>& probes,
                                       const Knowledge& knowledge);

/// Codes and explanations come from `knowledge`, which must be the one that the report was made with.
nlohmann::ordered_json to_json(const Report& report, const Knowledge& knowledge);
/// Facts and probes of a recorded --json (or of bare facts). Throws usage_error that names `where`.
struct Recording {
    Facts facts;
    std::vector<ProbeResult> probes;
};
Recording recording_from_json(const nlohmann::ordered_json& json, std::string_view where);

/// Replaces user names, host names, home folders and other paths that identify a person, in every string:
/// "/home/anna/venv" → "/home/<user>/venv". Hardware, versions, pids and sizes stay.
void redact(Report& report);

} // namespace rekindle::doctor
