/// Command lines that users of the original train.py have typed, verbatim after the program's name, with
/// their environment variables.

#include "process.h"
#include "program.h"
#include "small_market.h"

#include <rekindle/foundation/file.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <sstream>

namespace rekindle::cli {
namespace {

namespace fs = std::filesystem;

struct CommandLine {
    const char* written; ///< DATA is replaced by a merged CSV
    std::map<std::string, std::string> environment;
    std::vector<std::string> said; ///< differences that the run must mention
};

const std::string differs = "without effect here";

const std::vector<CommandLine>& command_lines() {
    static const std::vector<CommandLine> lines{
        {"--data DATA --output TRAINING/ --epochs 3 --batch_size 8 --learning_rate 0.0002 --hidden_layers "
         "32,16 --no_distributed --device_ids 0",
         {{"HIP_VISIBLE_DEVICES", "0"}, {"PYTHONPATH", "/workspace"}},
         {"HIP_VISIBLE_DEVICES=0", "--no-distributed", "--device-ids 0"}},
        {"--data DATA --output TRAINING/ --epochs 1 --batch_size 4 --no_distributed --device_ids 0",
         {{"TORCH_BLAS_PREFER_HIPBLASLT", "0"}},
         {"TORCH_BLAS_PREFER_HIPBLASLT=0", "--device-ids 0"}},
        {"--data DATA --output TRAINING/ --epochs 3 --batch_size 8 --no_distributed --device_ids 0",
         {{"AMD_SERIALIZE_KERNEL", "3"}, {"HSA_XNACK", "1"}},
         {"AMD_SERIALIZE_KERNEL=3", "HSA_XNACK=1"}},
        {"--data DATA --output TRAINING/ --epochs 3 --batch_size 16 --distributed_strategy fsdp",
         {{"HIP_VISIBLE_DEVICES", "0,1"}},
         {"HIP_VISIBLE_DEVICES=0,1", "--distributed-strategy fsdp"}},
        {"--data DATA --output TRAINING/ --epochs 1 --batch_size 4 --skip_gpu_cleanup --chunk_size 1000",
         {{"PYTORCH_HIP_ALLOC_CONF",
           "expandable_segments:True,max_split_size_mb:512,garbage_collection_threshold:0.8"}},
         {"PYTORCH_HIP_ALLOC_CONF=expandable_segments:True", "--skip-gpu-cleanup"}},
        {"--data DATA --output TRAINING/ --epochs 3 --batch_size 16 --learning_rate 0.0002 --hidden_layers "
         "64,32 --use_mixed_precision --distributed_strategy fsdp",
         {{"PYTORCH_ROCM_ARCH", "gfx1100"}, {"HSA_OVERRIDE_GFX_VERSION", "11.0.0"}},
         {"PYTORCH_ROCM_ARCH=gfx1100", "HSA_OVERRIDE_GFX_VERSION=11.0.0", "--use-mixed-precision"}},
        {"--data DATA --device cpu --batch_size 32 --epochs 1",
         {{"CUDA_VISIBLE_DEVICES", ""}},
         {"CUDA_VISIBLE_DEVICES="}},
        {"--data DATA --epochs 1 --batch_size 8",
         {{"HSA_OVERRIDE_GFX_VERSION", "10.3.0"}},
         {"HSA_OVERRIDE_GFX_VERSION=10.3.0", "--device auto"}},
        {"--data DATA --no_distributed --device_ids 0", {}, {"--device-ids 0"}},
    };
    return lines;
}

std::vector<std::string> words_of(const std::string& written, const std::string& data) {
    std::istringstream stream(written);
    std::vector<std::string> words{"train"};
    for (std::string word; stream >> word;)
        words.push_back(word == "DATA" ? data : word);
    return words;
}

fs::path run_folder(const TemporaryFolder& folder) {
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(folder.path() + "/TRAINING", code))
        return entry.path();
    return {};
}

TEST(TrainCommandLines, EachTrainsAndSaysWhatDiffers) {
    const TemporaryFolder files;
    const std::string data = files.file("merged.csv", make_bars(1, 0, 200));
    for (const CommandLine& line : command_lines()) {
        SCOPED_TRACE(line.written);
        const TemporaryFolder folder;
        const Finished finished = rekindle(words_of(line.written, data),
                                           {.folder = folder.path(), .environment = line.environment});
        ASSERT_EQ(finished.status, 0) << finished.output << finished.errors;
        EXPECT_TRUE(fs::exists(run_folder(folder) / "best_model.pt"));
        EXPECT_TRUE(fs::exists(run_folder(folder) / "report.html"));
        for (const std::string& text : line.said)
            EXPECT_NE((finished.output + finished.errors).find(text), std::string::npos)
                << text << " is not in:\n"
                << finished.output << finished.errors;
        EXPECT_EQ(finished.output.find(differs) != std::string::npos, !line.environment.empty())
            << finished.output;
    }
}

/// 768 training rows at batch 4 are 192 batches: the size of the run that users have reported.
TEST(TrainCommandLines, FullEpochOf768RowsHas192Batches) {
    const TemporaryFolder folder;
    // Of 1012 sessions, the first 50 fill the look-backs and the last has no outcome; see the assertion.
    const std::string data = folder.file("merged.csv", make_bars(1, 0, 1012));
    const Finished finished = rekindle(
        words_of("--data DATA --output TRAINING/ --epochs 1 --batch_size 4 --no_distributed --device_ids 0",
                 data),
        {.folder = folder.path(), .environment = {{"HIP_VISIBLE_DEVICES", "0"}}});
    ASSERT_EQ(finished.status, 0) << finished.errors;
    const auto metrics = nlohmann::json::parse(read_file(run_folder(folder) / "metrics.jsonl"));
    EXPECT_EQ(metrics.at("steps"), 192) << finished.output;
}

TEST(TrainCommandLines, DefaultOutputIsTheFolderTRAINING) {
    const TemporaryFolder folder;
    const std::string data = folder.file("merged.csv", make_bars(1, 0, 120));
    const Finished finished = rekindle({"train", "--data", data, "--epochs", "1"}, {.folder = folder.path()});
    ASSERT_EQ(finished.status, 0) << finished.errors;
    EXPECT_NE(finished.output.find("TRAINING"), std::string::npos);
    EXPECT_FALSE(run_folder(folder).empty());
}

TEST(TrainCommandLines, CtrlCSavesAndExitsWith130) {
    const TemporaryFolder folder;
    const std::string data = folder.file("merged.csv", make_bars(1, 0, 200));
    RunningProgram program({"train", "--data", data, "--epochs", "100000000"}, {}, folder.path());
    const auto has_checkpoint = [&] {
        std::error_code code;
        const fs::path checkpoints = run_folder(folder) / "checkpoints";
        return fs::exists(checkpoints, code) && !fs::is_empty(checkpoints, code);
    };
    ASSERT_TRUE(program.wait_until(has_checkpoint));
    program.send(SIGINT);
    const ProgramResult& finished = program.wait_for_end();
    EXPECT_EQ(finished.status, 130) << finished.error;
    EXPECT_NE(finished.output.find("continue with: rekindle train --resume-from-checkpoint TRAINING/"),
              std::string::npos)
        << finished.output.substr(0, 2000);
}

} // namespace
} // namespace rekindle::cli
