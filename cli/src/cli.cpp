#include "commands/commands.h"

#include <rekindle/base/text.h>
#include <rekindle/base/version.h>
#include <rekindle/cli/cli.h>
#include <rekindle/cli/surroundings.h>
#include <rekindle/trainer/market_data.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <new>

namespace rekindle::cli {

namespace {

using Runner = ExitStatus (*)(Context&);

const std::map<std::string_view, Runner>& runners() {
    static const std::map<std::string_view, Runner> table{
        {"train", run_train},
        {"walk-forward", run_walk_forward},
        {"search", run_search},
        {"predict", run_predict},
        {"import-model", run_import_model},
        {"inspect", run_inspect},
        {"features", run_features},
        {"volume-profile", run_volume_profile},
        {"backtest", run_backtest},
        {"report", run_report},
        {"simulate", run_simulate},
        {"devices", run_devices},
        {"verify", run_verify},
        {"doctor", run_doctor},
        {"completions", run_completions},
        {"generate-docs", run_generate_docs},
        {"help", run_help},
    };
    return table;
}

void render(const Error& error, Stream& errors, bool json) {
    if (json) {
        const nlohmann::ordered_json event{
            {"event", "error"},           {"where", error.where()},
            {"message", error.message()}, {"expected", error.expectation()},
            {"hint", error.advice()},     {"exit_status", static_cast<int>(error.status())}};
        errors.line(event.dump(-1, ' ', !errors.traits().utf8, nlohmann::json::error_handler_t::replace));
        return;
    }
    const std::string_view label = error.status() == ExitStatus::internal ? "internal error: " : "error: ";
    errors.line((errors.traits().color ? fmt::format("\033[1;31m{}\033[0m", label) : std::string(label)) +
                error.render());
}

/// Whether errors are printed as JSON. Needed before the arguments are parsed, because parsing can fail.
bool asks_for_json(std::span<const std::string> arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        std::string argument = arguments[i];
        std::replace(argument.begin(), argument.end(), '_', '-');
        if (argument == "--log-format=json" ||
            (argument == "--log-format" && i + 1 < arguments.size() && arguments[i + 1] == "json"))
            return true;
    }
    return false;
}

void check_positionals(const CommandSpec& command, const CommandLine& line) {
    if (command.positional_required && line.positionals.empty())
        throw usage_error(fmt::format("{} is missing", command.positional))
            .expected(command.positional_words.empty()
                          ? usage_line(command)
                          : fmt::format("one of {}", fmt::join(command.positional_words, ", ")));
    const bool many = command.positional.find("...") != std::string_view::npos;
    if (!many && line.positionals.size() > 1)
        throw usage_error(fmt::format("unexpected argument \"{}\"", line.positionals[1]))
            .expected(usage_line(command));
}

void check_required(const CommandLine& line) {
    for (const OptionSpec* option : options_of(line.command->name))
        if (option->required && !option->in_config && !line.has(option->key()))
            throw usage_error(fmt::format("--{} is missing", option->name))
                .expected(describe_values(*option));
}

std::string user_defaults_file(const UserFolders& folders) {
    return folders.config.empty() ? "" : folders.config + "/config.json";
}

ExitStatus run_command(std::span<const std::string> arguments, Stream& output, Stream& errors) {
    const std::string first = arguments.empty() ? "--help" : arguments.front();
    if (first == "--version") {
        output.line(version_details());
        return ExitStatus::success;
    }
    const bool overview = first == "--help" || first == "-h";
    const CommandSpec* command = find_command(overview ? "help" : first);
    if (command == nullptr)
        throw unknown_command(first);
    const UserFolders folders = user_folders(process_environment);
    Context context{.line = parse_command_line(*command, overview ? std::span<const std::string>{}
                                                                  : arguments.subspan(1)),
                    .messages = {},
                    .output = output,
                    .errors = errors,
                    .environment = process_environment,
                    .folders = folders};
    context.messages = {.quiet = context.line.flag("quiet"),
                        .verbose = context.line.flag("verbose"),
                        .json = context.line.text("log_format") == "json"};
    if (context.line.flag("help")) {
        context.line.positionals = {std::string(command->name)};
        return run_help(context);
    }
    check_positionals(*command, context.line);
    check_required(context.line);
    check_combinations(context.line, effective_config(context.line, user_defaults_file(folders)));
    return runners().at(command->name)(context);
}

/// Runs `job` and turns every failure into a status and a message.
template <class Job>
ExitStatus guarded(Stream& errors, bool json, Job&& job) {
    const auto fail = [&](const Error& error) {
        render(error, errors, json);
        return error.status();
    };
    try {
        return job();
    } catch (const Error& error) {
        return fail(error);
    } catch (const std::bad_alloc&) {
        return fail(Error("not enough memory").hint("--chunk-size reads the bars in smaller parts."));
    } catch (const std::exception& error) {
        return fail(internal_error(error.what())
                        .hint(fmt::format("This is a bug in Rekindle. Please report it with your command "
                                          "line and this line: {}. Nothing has been sent anywhere.",
                                          version_details())));
    }
}

} // namespace

Error unknown_command(std::string_view written) {
    std::vector<std::string_view> names;
    for (const CommandSpec& command : command_table()) {
        names.push_back(command.name);
        names.insert(names.end(), command.aliases.begin(), command.aliases.end());
    }
    Error error = usage_error(fmt::format("unknown command \"{}\"", written));
    const std::string_view near = nearest_word(written, names);
    error.hint(near.empty() ? "rekindle --help lists the commands."
                            : fmt::format("Did you mean \"{}\"? rekindle --help lists the commands.", near));
    return error;
}

EffectiveConfig Context::config(LogSink& log) const {
    EffectiveConfig effective = effective_config(line, user_defaults_file(folders));
    trainer::apply_instrument(effective.config, effective.given);
    if (!effective.user_defaults.empty())
        log.info(fmt::format("your defaults were read from {}", effective.user_defaults));
    return effective;
}

void Context::result(const nlohmann::ordered_json& result) {
    nlohmann::ordered_json event;
    if (messages.json)
        event["event"] = "result";
    event.update(result);
    output.line(event.dump(messages.json ? -1 : 2, ' ', !output.traits().utf8,
                           nlohmann::json::error_handler_t::replace));
}

int run(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
    Stream output(stdout, terminal_traits(1, process_environment));
    Stream errors(stderr, terminal_traits(2, process_environment));
    const bool json = asks_for_json(arguments);
    ExitStatus status = guarded(errors, json, [&] { return run_command(arguments, output, errors); });
    if (!output.good() && status == ExitStatus::success)
        status = guarded(errors, json, []() -> ExitStatus {
            throw Error("cannot write to standard output").hint("Is the disk full?");
        });
    return static_cast<int>(status);
}

} // namespace rekindle::cli
