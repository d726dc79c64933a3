#pragma once
/// The whole result: as JSON (docs/formats/doctor.md) and with names removed.

#include <rekindle/doctor/devices.h>
#include <rekindle/doctor/diagnosis.h>
#include <rekindle/doctor/plan.h>
#include <rekindle/doctor/recording.h>
#include <rekindle/doctor/watched_run.h>

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace rekindle::doctor {

struct Report {
    Facts facts;
    std::vector<ProbeResult> probes;
    std::vector<DeviceStatus> devices;
    std::string verdict;                ///< one sentence
    std::vector<Finding> findings;      ///< best first; with a log, only what the log supports
    std::vector<Finding> host_findings; ///< with a log: what the facts alone show about the host
    std::vector<Recognized> recognized; ///< messages in the log
    std::vector<Candidate> candidates;  ///< causes without enough evidence, best first
    std::vector<RuledOut> ruled_out;    ///< causes that a known fact contradicts
    std::vector<std::string> ask;       ///< at most three, the most decisive first
    std::vector<std::string> noticed;
    Plan plan;
    std::string log;                     ///< name of the log that was read, "" for none
    Outcome outcome = Outcome::unknown;  ///< of the run that wrote it
    std::optional<RunResult> run;        ///< --run: the command that wrote the log
    std::optional<RunResult> second_run; ///< --finish: the same command, run on Vulkan
};

/// Applies rules and plan to what was read. `log` may be nullptr. A log that is not understood gives no
/// finding, even if something is wrong on the host: that goes to `host_findings`.
Report make_report(Facts facts, std::vector<ProbeResult> probes, const LogText* log,
                   const Knowledge& knowledge);

/// Codes and explanations come from `knowledge`, which must be the one that the report was made with.
nlohmann::ordered_json to_json(const Report& report, const Knowledge& knowledge);
/// Replaces user names, host names, home folders and other paths that identify a person, in every string:
/// "/home/anna/venv" → "/home/<user>/venv". Hardware, versions, pids and sizes stay.
void redact(Report& report);

} // namespace rekindle::doctor
