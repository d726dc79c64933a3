#pragma once
/// One function per command: reads the command line, calls the libraries, prints.

#include <rekindle/cli/command_line.h>
#include <rekindle/cli/progress_view.h>
#include <rekindle/cli/reference.h>
#include <rekindle/cli/terminal.h>
#include <rekindle/foundation/error.h>

namespace rekindle::cli {

/// The arguments of every command.
struct Context {
    CommandLine line;
    MessageOptions messages;
    Stream& output;
    Stream& errors;
    Environment environment;
    UserFolders folders;

    /// The effective configuration; logs a note when it includes the user's defaults.
    EffectiveConfig config(LogSink& log) const;
    /// Prints a result as JSON: as one line with "event":"result" under --log-format json, else indented.
    void result(const nlohmann::ordered_json& result);
};

/// "unknown command", with the nearest one.
Error unknown_command(std::string_view written);

ExitStatus run_train(Context& context);
ExitStatus run_walk_forward(Context& context);
ExitStatus run_search(Context& context);
ExitStatus run_predict(Context& context);
ExitStatus run_import_model(Context& context);
ExitStatus run_inspect(Context& context);
ExitStatus run_volume_profile(Context& context);
ExitStatus run_features(Context& context);
ExitStatus run_backtest(Context& context);
ExitStatus run_report(Context& context);
ExitStatus run_simulate(Context& context);
ExitStatus run_devices(Context& context);
ExitStatus run_verify(Context& context);
ExitStatus run_doctor(Context& context);
ExitStatus run_completions(Context& context);
ExitStatus run_generate_docs(Context& context);
ExitStatus run_help(Context& context);

} // namespace rekindle::cli
