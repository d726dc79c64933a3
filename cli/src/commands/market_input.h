#pragma once
/// Shared by the commands that read bars.

#include "../interruption.h"
#include "commands.h"

#include <rekindle/base/cancellation.h>
#include <rekindle/base/thread_pool.h>
#include <rekindle/market/read_bars.h>
#include <rekindle/trainer/market_data.h>

#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace rekindle::cli {

/// The path of a temporary file of bars; the file is removed with the object.
class ScratchFile {
  public:
    /// In the user's cache folder, or in the system's folder for temporary files when there is none.
    explicit ScratchFile(const UserFolders& folders);
    ~ScratchFile();
    ScratchFile(const ScratchFile&) = delete;
    ScratchFile& operator=(const ScratchFile&) = delete;
    const std::filesystem::path& path() const noexcept { return path_; }

  private:
    std::filesystem::path path_;
};

/// The bars and sessions of a command's instruments, and the resources to read them. While the object lives,
/// Ctrl-C sets the token.
struct MarketInput {
    /// Reads the bars; see trainer::load_markets.
    MarketInput(const Context& context, const trainer::TrainConfig& config, trainer::ProgressSink& progress);

    CancellationToken cancellation;
    InterruptionGuard guard{cancellation};
    ScratchFile scratch;
    ThreadPool pool;
    std::vector<trainer::MarketData> markets; ///< one, unless --several-instruments is given
};

/// Completes the configuration of a command that reads bars without a model: infers and logs the instrument.
trainer::TrainConfig with_instrument(const EffectiveConfig& effective, LogSink& log);

/// Writes rejected.csv next to `output` (in the working folder when that is empty) if rows were rejected.
void write_rejected(std::span<const market::RejectedRow> rejected, const std::filesystem::path& output,
                    LogSink& log);

/// Refuses to write over a file that is read.
void require_other_file(const std::filesystem::path& output, const trainer::TrainConfig& config);

/// Ends the command when the token was set while it ran.
void stop_if_requested(const CancellationToken& cancellation);

/// Throws Error (usage) if neither bars nor a folder to resume is given.
void require_bars(const trainer::TrainConfig& config);

/// Prints, after an interruption, what is saved in the folder and how to continue `command`.
void print_interruption(Context& context, std::string_view command, double seconds, std::string_view saved,
                        const std::filesystem::path& folder);

/// Prints the configuration when --print-config is given.
bool printed_config(Context& context, const trainer::TrainConfig& config);

} // namespace rekindle::cli
