#pragma once
/// Runs one step of a plan, and only if it is reversible, does not need root and only affects a new
/// environment.

#include <rekindle/doctor/facts.h>
#include <rekindle/doctor/plan.h>
#include <rekindle/foundation/log.h>

#include <filesystem>
#include <string>

namespace rekindle::doctor {

/// Why the program does not run a step: "it needs root", "/home/… exists already"; "" when it may.
std::string reason_to_refuse(const Step& step);

struct FixResult {
    bool carried_out = false;     ///< every command ended with status 0
    bool verified = false;        ///< the check printed the expected line
    std::string failure;          ///< the command that failed, or what the check printed instead
    std::filesystem::path folder; ///< facts.json, pip-freeze.txt, commands.sh, undo.sh, output.log
    std::filesystem::path undo_script;
};

/// Saves the facts and the output of `pip freeze` of the Python in use, writes the undo script, runs the
/// step's commands with `sh -e`, then its check. Everything is kept in a new folder below `records`.
/// Nothing runs before the undo script is on disk. The commands' output goes to `log` line by line and into
/// output.log. Throws usage_error when reason_to_refuse() gives a reason; other failures are returned in
/// the result.
FixResult carry_out(const Step& step, const Facts& facts, const std::filesystem::path& records, LogSink& log);

} // namespace rekindle::doctor
