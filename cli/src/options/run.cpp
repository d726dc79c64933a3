#include "rows.h"

namespace rekindle::cli::rows {

std::vector<OptionSpec> run() {
    const std::string_view group = "Where and how it runs";
    return {
        {.name = "output",
         .aliases = {"-o"},
         .kind = ValueKind::path,
         .value_name = "FOLDER",
         .in_config = true,
         .group = group,
         .brief = "Parent folder of the run folder",
         .detail = "The run goes to a new folder FOLDER/train_YYYYMMDD_HHMMSS (UTC).",
         .example = "--output TRAINING/",
         .commands = trainers},
        {.name = "device",
         .kind = ValueKind::device,
         .value_name = "DEVICE",
         .words = {"auto", "cpu", "gpu", "gpu:N"},
         .in_config = true,
         .group = group,
         .brief = "auto, cpu, gpu, gpu:N, cuda:N or a UUID",
         .detail =
             "Where the networks train. auto times a few steps of this network and population on the CPU and "
             "on every GPU with a Vulkan driver, takes the fastest and prints the comparison; a training "
             "that the CPU ends within a second stays there. gpu (or cuda, hip, rocm, vulkan) is the "
             "first GPU of `rekindle devices`, cuda:N, hip:N, rocm:N and N the GPU of that number. A Vulkan "
             "driver for the CPU is used only when it is named by its address gpu:N or its UUID, with a "
             "warning. One small network is as fast "
             "on the CPU: GPUs pay for populations (--population) and wider layers. A run may be resumed on "
             "another device.",
         .example = "--device gpu --population 1024",
         .commands = trainers},
        {.name = "device-ids",
         .kind = ValueKind::device_ids,
         .value_name = "N,N,...",
         .in_config = true,
         .group = group,
         .brief = "Numbers of the GPUs that may be used",
         .detail = "With --device gpu a population is spread over these GPUs by their measured speed; with "
                   "--device auto they are compared with the CPU, and it does not fail for a GPU that is not "
                   "there. One network trains on one device.",
         .example = "--device gpu --device-ids 0,1 --population 4096",
         .commands = trainers},
        {.name = "no-distributed",
         .kind = ValueKind::flag,
         .in_config = true,
         .group = group,
         .brief = "One device only: the first of --device-ids",
         .detail =
             "Accepted for old command lines. Without several devices in --device-ids this is always so.",
         .example = "--no-distributed",
         .commands = trainers},
        {.name = "distributed-strategy",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"auto", "dataparallel", "fsdp"},
         .in_config = true,
         .group = group,
         .brief = "Accepted for old command lines; no network is split",
         .detail =
             "dataparallel and fsdp of one network over several devices are refused: its gradients are "
             "kilobytes, so there is nothing to shard, and one sum of them over PCIe (10 us and more) takes "
             "longer than the whole step (2 to 5 us). --population spreads whole networks over the devices "
             "instead. With one device the word is recorded and the run says what differs.",
         .example = "--distributed-strategy fsdp",
         .commands = trainers},
        {.name = "skip-gpu-cleanup",
         .kind = ValueKind::flag,
         .in_config = true,
         .group = group,
         .brief = "Accepted for old command lines; nothing is cleaned up",
         .detail =
             "The original emptied GPU caches at the start, and this skipped it. Rekindle never touches the "
             "memory or the processes of others, so there is nothing to skip.",
         .example = "--skip-gpu-cleanup",
         .commands = trainers},
        {.name = "threads",
         .kind = ValueKind::integer,
         .value_name = "N",
         .range = {.low = 0},
         .in_config = true,
         .group = group,
         .brief = "Processor threads; 0: all",
         .detail =
             "Threads that read, compute features and train. Results have the same bits for every number.",
         .example = "--threads 1",
         .commands = {"train", "volume-profile", "features", "inspect", "predict"}},
        {.name = "checkpoint-interval",
         .kind = ValueKind::integer,
         .value_name = "STEPS",
         .range = {.low = 0},
         .in_config = true,
         .group = group,
         .brief = "Steps between checkpoints; 0: each epoch and every 30 s",
         .detail =
             "An explicit interval is honored and its cost is printed: making a checkpoint safe on the disk "
             "takes longer than hundreds of steps.",
         .example = "--checkpoint-interval 50",
         .commands = trainers},
        {.name = "keep-checkpoints",
         .kind = ValueKind::integer,
         .value_name = "K",
         .range = {.low = 1},
         .in_config = true,
         .group = group,
         .brief = "How many of the latest checkpoints are kept",
         .detail = "Older checkpoints of the run folder are removed.",
         .example = "--keep-checkpoints 10",
         .commands = trainers},
        {.name = "resume-from-checkpoint",
         .kind = ValueKind::path,
         .value_name = "RUN",
         .in_config = true,
         .group = group,
         .brief = "Continue the run of this folder, bit for bit",
         .detail =
             "RUN is a run folder. The run goes on from its newest sound checkpoint and ends with the same "
             "weights as if it had never stopped.",
         .example = "--resume-from-checkpoint TRAINING/train_20261121_101500",
         .commands = trainers},
        {.name = "config",
         .kind = ValueKind::path,
         .value_name = "FILE",
         .group = group,
         .brief = "Take options from a JSON file; options on the line win",
         .detail =
             "A flat JSON object whose keys are the options' names with underscores, as --print-config "
             "prints "
             "it and as config.json of a run folder holds it. Keys that are absent keep their defaults; an "
             "unknown key is an error.",
         .example = "--config TRAINING/train_20261121_101500/config.json --epochs 5",
         .commands = {"train", "volume-profile", "features"}},
        {.name = "print-config",
         .kind = ValueKind::flag,
         .group = group,
         .brief = "Print the effective configuration and stop",
         .detail = "Prints all keys with the values that would be used, in the format of --config.",
         .example = "--print-config",
         .commands = {"train", "volume-profile", "features"}},
    };
}

std::vector<OptionSpec> messages() {
    const std::string_view group = "Messages";
    const std::vector<std::string_view> everywhere{
        "train",   "predict", "inspect", "volume-profile", "features",      "simulate",
        "devices", "verify",  "doctor",  "completions",    "generate-docs", "help"};
    return {
        {.name = "quiet",
         .aliases = {"-q"},
         .kind = ValueKind::flag,
         .group = group,
         .brief = "Only warnings, errors and the result",
         .detail = "No progress and no notes.",
         .example = "--quiet",
         .commands = everywhere,
         .not_with = {{.option = "verbose", .reason = "one asks for fewer messages, the other for more"}}},
        {.name = "verbose",
         .aliases = {"-v"},
         .kind = ValueKind::flag,
         .group = group,
         .brief = "More about what is done",
         .detail = "Adds the messages that help to find out why something is as it is.",
         .example = "--verbose",
         .commands = everywhere},
        {.name = "log-format",
         .kind = ValueKind::word,
         .value_name = "WORD",
         .words = {"text", "json"},
         .group = group,
         .brief = "Messages as text, or one JSON object a line",
         .detail = "With json, each message, each progress report and each error is one JSON object on a "
                   "line of its "
                   "own, with a key \"event\" that says what it is.",
         .example = "--log-format json",
         .commands = everywhere,
         .default_text = "text"},
        {.name = "help",
         .aliases = {"-h"},
         .kind = ValueKind::flag,
         .group = group,
         .brief = "Show this help",
         .detail = "Shows the help of the command, fitted to the width of the terminal.",
         .example = "--help",
         .commands = everywhere},
    };
}

} // namespace rekindle::cli::rows
