#include "market_input.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/file.h>
#include <rekindle/trainer/settings.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

namespace rekindle::cli {

namespace fs = std::filesystem;

ScratchFile::ScratchFile(const UserFolders& folders) {
    const fs::path folder = folders.cache.empty() ? fs::temp_directory_path() : fs::path(folders.cache);
    path_ = folder / fmt::format("bars-{}.columns", getpid());
}

ScratchFile::~ScratchFile() {
    std::error_code ignored;
    fs::remove(path_, ignored);
    for (const auto& entry : fs::directory_iterator(path_.parent_path(), ignored))
        if (entry.path().filename().string().starts_with(path_.stem().string() + "-")) // of one instrument
            fs::remove(entry.path(), ignored);
}

MarketInput::MarketInput(const Context& context, const trainer::TrainConfig& config,
                         trainer::ProgressSink& progress)
    : scratch(context.folders), pool(static_cast<std::size_t>(config.threads)),
      markets(trainer::load_markets(config, scratch.path(), pool, progress, cancellation)) {}

trainer::TrainConfig with_instrument(const EffectiveConfig& effective, LogSink& log) {
    trainer::TrainConfig config = effective.config;
    if (const std::string sentence = trainer::infer_instrument(config, effective.given); !sentence.empty())
        log.info(sentence);
    return config;
}

void write_rejected(std::span<const market::RejectedRow> rejected, const fs::path& output, LogSink& log) {
    if (rejected.empty())
        return;
    const fs::path file = output.parent_path() / "rejected.csv";
    market::write_rejected_rows(file, rejected);
    log.info(fmt::format("the skipped rows are listed in {}", file.string()));
}

void require_other_file(const fs::path& output, const trainer::TrainConfig& config) {
    std::vector<std::string> inputs = config.data;
    inputs.insert(inputs.end(), {config.vix, config.calendar});
    std::error_code ignored;
    for (const std::string& input : inputs)
        if (!input.empty() && fs::is_regular_file(input, ignored) && fs::equivalent(input, output, ignored))
            throw usage_error("the output would overwrite an input")
                .at(output.string())
                .expected("another file");
}

void require_bars(const trainer::TrainConfig& config) {
    if (config.data.empty() && config.resume_from_checkpoint.empty())
        throw usage_error("no bars given")
            .expected("--data PATH")
            .hint("To try the program, generate some with rekindle simulate --output bars.csv.");
}

void print_interruption(Context& context, std::string_view command, double seconds, std::string_view saved,
                        const fs::path& folder) {
    context.output.line(fmt::format("interrupted after {}; {} saved in {}", format_duration(seconds), saved,
                                    folder.string()));
    context.output.line(
        fmt::format("continue with: rekindle {} --resume-from-checkpoint {}", command, folder.string()));
}

void stop_if_requested(const CancellationToken& cancellation) {
    if (cancellation.requested())
        throw Error("interrupted; nothing was written", ExitStatus::interrupted);
}

bool printed_config(Context& context, const trainer::TrainConfig& config) {
    if (!context.line.flag("print_config"))
        return false;
    trainer::session_rules(config); // throws for an invalid zone or hour
    nlohmann::ordered_json json;
    trainer::to_json(json, config);
    context.output.line(json.dump(2));
    return true;
}

} // namespace rekindle::cli
