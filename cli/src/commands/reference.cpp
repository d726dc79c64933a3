#include "commands.h"

#include <rekindle/cli/surroundings.h>
#include <rekindle/doctor/pages.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/trainer/verify.h>

#include <fmt/format.h>

#include <algorithm>

namespace rekindle::cli {

namespace {

void write_all(const std::filesystem::path& folder, const std::map<std::string, std::string>& files) {
    for (const auto& [name, content] : files) {
        ensure_directory((folder / name).parent_path());
        write_file_atomically(folder / name, content);
    }
}

constexpr std::size_t max_help_width = 100; ///< longer lines are hard to read

} // namespace

ExitStatus run_completions(Context& context) {
    context.output.write(completion_script(context.line.positionals.front()));
    return ExitStatus::success;
}

ExitStatus run_generate_docs(Context& context) {
    const std::filesystem::path folder = context.line.positionals.front();
    const std::string only = context.line.text("only", "all");
    if (only == "all" || only == "pages") {
        write_all(folder, reference_pages());
        write_all(folder, doctor::knowledge_pages(doctor::embedded_knowledge()));
        write_all(folder, doctor::committed_knowledge_pages(doctor::embedded_knowledge()));
    }
    if (only == "committed") {
        if (!std::filesystem::is_directory(folder / "hardware"))
            throw usage_error("it has no hardware/, whose reports hardware.md is made from")
                .at(folder.string())
                .expected("the folder docs of the repository");
        write_all(folder, committed_pages());
        write_all(folder, doctor::committed_knowledge_pages(doctor::embedded_knowledge()));
        write_all(folder, {{"hardware.md", trainer::hardware_page_of(folder)}});
    }
    if (only == "all" || only == "man")
        write_all(folder / "man1", manual_pages());
    if (only == "all" || only == "completions")
        write_all(folder / "completions", {{"rekindle.bash", completion_script("bash")},
                                           {"_rekindle", completion_script("zsh")},
                                           {"rekindle.fish", completion_script("fish")}});
    return ExitStatus::success;
}

ExitStatus run_help(Context& context) {
    const std::size_t width = std::min(context.output.traits().width, max_help_width);
    const UserFolders folders = shown_folders(context.folders, context.environment);
    if (context.line.positionals.empty()) {
        context.output.write(render_overview(width, folders));
        return ExitStatus::success;
    }
    const CommandSpec* command = find_command(context.line.positionals.front());
    if (command == nullptr)
        throw unknown_command(context.line.positionals.front());
    context.output.write(render_help(*command, width, folders));
    return ExitStatus::success;
}

} // namespace rekindle::cli
