#pragma once
/// Carrying out one step of a plan: only what is reversible, needs no root and goes into a new environment.

#include <rekindle/base/log.h>
#include <rekindle/doctor/facts.h>
#include <rekindle/doctor/plan.h>

#include <filesystem>
#include <string>

namespace rekindle::doctor {

/// Why a step is not carried out by the program: "it needs root", "/home/… exists already"; "" when it may
/// be.
std::string reason_to_refuse(const Step& step);

struct FixResult {
    bool carried_out = false;     ///< every command ended with status 0
    bool verified = false;        ///< the check printed the expected line
    std::string failure;          ///< the command that failed, or what the check printed instead
    std::filesystem::path folder; ///< facts.json, pip-freeze.txt, commands.sh, undo.sh, output.log
    std::filesystem::path undo_script;
};

/// Saves the facts and `pip freeze` of the Python in use, writes the undo script, runs the step's commands
/// with `sh -e`, then its check. Everything is kept in a new folder below `records`. Nothing is run before
/// the undo script is on the disk. The commands' output goes to `log` line by line and into output.log.
/// Throws usage_error when reason_to_refuse() gives one; other failures are values.
FixResult carry_out(const Step& step, const Facts& facts, const std::filesystem::path& records, LogSink& log);

} // namespace rekindle::doctor
