#include "probes/child_process.h"

#include <rekindle/doctor/facts_json.h>
#include <rekindle/doctor/fix.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <ctime>

namespace rekindle::doctor {

namespace {

namespace fs = std::filesystem;

/// Counted from the last line of output: wheels of 4 GiB over a slow connection take long.
constexpr std::chrono::minutes command_deadline{60};
constexpr std::chrono::minutes freeze_deadline{2};

std::string stamp() {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&now, &utc);
    char text[32];
    std::strftime(text, sizeof text, "%Y%m%d_%H%M%S", &utc);
    return text;
}

/// A new folder, even for two fixes within one second.
fs::path new_folder(const fs::path& records, const std::string& id) {
    ensure_directory(records);
    for (int attempt = 0; attempt < 100; ++attempt) {
        fs::path folder =
            records / fmt::format("{}_{}{}", id, stamp(), attempt == 0 ? "" : fmt::format("_{}", attempt));
        std::error_code error;
        if (fs::create_directory(folder, error))
            return folder;
        if (error)
            throw Error("the folder cannot be created: " + error.message()).at(folder.string());
    }
    throw Error("no new folder could be created").at(records.string());
}

/// The script's output goes to the result descriptor of the child, so that it is shown while the script
/// runs.
std::string script_of(const std::vector<std::string>& commands, bool to_results) {
    std::string text = "#!/bin/sh\nset -eu\n";
    if (to_results)
        text += fmt::format("exec 1>&{0} 2>&{0}\n", result_descriptor);
    for (const std::string& command : commands)
        text += command + "\n";
    return text;
}

struct ScriptEnd {
    bool fine = false;
    std::string how;    ///< "ended with status 1"
    std::string output; ///< everything that it printed
};

ScriptEnd run_script(const fs::path& script, std::chrono::milliseconds deadline, LogSink& log) {
    ScriptEnd end;
    ChildCommand command;
    command.program = "/bin/sh";
    command.arguments = {script.string()};
    command.deadline = deadline;
    command.deadline_restarts = true;
    const ChildOutcome outcome = run_children({&command, 1}, [&](std::size_t, std::string_view line) {
                                     const std::string text = printable_text(line);
                                     end.output += text + "\n";
                                     log.info(text);
                                 }).front();
    switch (outcome.end) {
    case ChildOutcome::End::exited:
        end.fine = outcome.exit_status == 0;
        end.how = fmt::format("ended with status {}", outcome.exit_status);
        break;
    case ChildOutcome::End::signaled:
        end.how = fmt::format("was terminated by signal {}", outcome.signal);
        break;
    case ChildOutcome::End::killed:
    case ChildOutcome::End::unkillable:
        end.how = outcome.why.empty() ? "printed nothing for too long" : outcome.why;
        break;
    case ChildOutcome::End::not_started:
        end.how = "could not be started: " + outcome.why;
        break;
    }
    return end;
}

const PythonEnvironment* python_in_use(const Facts& facts) {
    for (const PythonEnvironment& python : facts.pythons)
        if (python.active && !python.interpreter.empty())
            return &python;
    return nullptr;
}

void save_freeze(const Facts& facts, const fs::path& folder) {
    const PythonEnvironment* python = python_in_use(facts);
    const fs::path file = folder / "pip-freeze.txt";
    if (python == nullptr) {
        write_file_atomically(file, "# no Python was in use\n");
        return;
    }
    const fs::path script = folder / "pip-freeze.sh";
    write_file_atomically(script, script_of({fmt::format("'{}' -m pip freeze", python->interpreter)}, true));
    NullLogSink quiet;
    const ScriptEnd end = run_script(script, freeze_deadline, quiet);
    fs::remove(script);
    write_file_atomically(file,
                          fmt::format("# {} -m pip freeze {}\n{}", python->interpreter, end.how, end.output));
}

} // namespace

std::string reason_to_refuse(const Step& step) {
    if (step.root)
        return "it needs root";
    if (step.reboot)
        return "it needs a reboot";
    if (!step.automatic || step.commands.empty() || step.undo.empty() || step.environment.empty())
        return "it changes something that you have to change yourself";
    if (!fs::path(step.environment).is_absolute())
        return "the path of its environment is not absolute";
    std::error_code error;
    if (fs::exists(fs::symlink_status(step.environment, error)))
        return step.environment + " exists already";
    return "";
}

FixResult carry_out(const Step& step, const Facts& facts, const fs::path& records, LogSink& log) {
    if (const std::string reason = reason_to_refuse(step); !reason.empty())
        throw usage_error(fmt::format("rekindle does not run {}: {}", step.id, reason))
            .hint(fmt::format("rekindle doctor --fix {} shows its commands.", step.id));
    FixResult result;
    result.folder = new_folder(records, step.id);
    result.undo_script = result.folder / "undo.sh";
    write_file_atomically(result.folder / "facts.json",
                          to_json(facts).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
                              "\n");
    save_freeze(facts, result.folder);
    write_file_atomically(result.undo_script, script_of(step.undo, false));
    fs::permissions(result.undo_script, fs::perms::owner_exec, fs::perm_options::add);
    const fs::path commands = result.folder / "commands.sh";
    write_file_atomically(commands, script_of(step.commands, true));

    const ScriptEnd done = run_script(commands, command_deadline, log);
    std::string output = done.output;
    result.carried_out = done.fine;
    if (!done.fine) {
        result.failure = fmt::format("the commands {}", done.how);
    } else if (!step.verify.empty()) {
        const fs::path check = result.folder / "check.sh";
        write_file_atomically(check, script_of({step.verify}, true));
        const ScriptEnd checked = run_script(check, command_deadline, log);
        output += checked.output;
        result.verified = checked.fine && checked.output.find(step.expect) != std::string::npos;
        if (!result.verified)
            result.failure = fmt::format("the check {} and did not print \"{}\"", checked.how, step.expect);
    }
    write_file_atomically(result.folder / "output.log", output);
    return result;
}

} // namespace rekindle::doctor
