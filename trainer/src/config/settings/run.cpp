#include "rows.h"

namespace rekindle::trainer::rows {

std::vector<Setting> run() {
    const std::string_view group = "Where and how it runs";
    return {
        {.name = "output",
         .field = &TrainConfig::output,
         .aliases = {"-o"},
         .form = ValueKind::path,
         .value_name = "FOLDER",
         .group = group,
         .brief = "Parent folder of the run folder",
         .detail = "Each run gets a new folder FOLDER/train_YYYYMMDD_HHMMSS or walk_forward_YYYYMMDD_HHMMSS "
                   "(local time).",
         .example = "--output TRAINING/",
         .commands = run_makers},
        {.name = "device",
         .field = &TrainConfig::device,
         .form = ValueKind::device,
         .value_name = "DEVICE",
         .special_words = {"auto", "cpu", "gpu", "gpu:N"},
         .group = group,
         .brief = "auto, cpu, gpu, gpu:N, cuda:N or a UUID",
         .detail =
             "Where the networks train. auto times a few steps of this network and population on the CPU and "
             "on every GPU with a Vulkan driver, uses the fastest and prints the comparison; a run that the "
             "CPU finishes within a second stays on the CPU. gpu (or cuda, hip, rocm, vulkan) is the first "
             "GPU that `rekindle devices` lists; cuda:N, hip:N, rocm:N and N are GPU number N. A CPU driver "
             "such as lavapipe is used only when you name it by its address gpu:N or its UUID, and prints a "
             "warning. A single small network trains just as fast on the CPU: GPUs pay off for populations "
             "(--population) and wide layers. A run can be resumed on another device.",
         .example = "--device gpu --population 1024",
         .commands = trainers,
         .part = SettingPart::machine},
        {.name = "device-ids",
         .field = &TrainConfig::device_ids,
         .form = ValueKind::device_ids,
         .value_name = "N,N,...",
         .group = group,
         .brief = "Numbers of the GPUs to use",
         .detail = "With --device gpu, a population is spread over these GPUs in proportion to their "
                   "measured speed. With --device auto, they are compared with the CPU, and a GPU that does "
                   "not exist is not an error. A single network trains on one device.",
         .example = "--device gpu --device-ids 0,1 --population 4096",
         .commands = trainers,
         .part = SettingPart::machine},
        {.name = "no-distributed",
         .field = &TrainConfig::no_distributed,
         .group = group,
         .brief = "Use one device only: the first of --device-ids",
         .detail = "Accepted so that old command lines keep working. It has no effect unless --device-ids "
                   "lists several devices.",
         .example = "--no-distributed",
         .commands = trainers},
        {.name = "distributed-strategy",
         .field = choice_field<&TrainConfig::distributed_strategy>,
         .value_name = "WORD",
         .group = group,
         .brief = "Accepted for old command lines; networks are not split",
         .detail =
             "dataparallel and fsdp for one network on several devices are refused: its gradients are a few "
             "kilobytes, so there is nothing to shard, and summing them once over PCIe (10 us and more) "
             "takes longer than the whole step (2 to 5 us). --population spreads whole networks over the "
             "devices instead. With one device, the option is recorded and the run says what differs.",
         .example = "--distributed-strategy fsdp",
         .commands = trainers},
        {.name = "skip-gpu-cleanup",
         .field = &TrainConfig::skip_gpu_cleanup,
         .group = group,
         .brief = "Accepted for old command lines; nothing is cleaned up",
         .detail =
             "The original system emptied the GPU caches at startup, and this option skipped that. Rekindle "
             "never touches the memory or the processes of other programs, so there is nothing to skip.",
         .example = "--skip-gpu-cleanup",
         .commands = trainers},
        {.name = "threads",
         .field = &TrainConfig::threads,
         .value_name = "N",
         .range = {.low = 0},
         .group = group,
         .brief = "CPU threads; 0: all",
         .detail = "Threads for reading, computing features and training. The results are bit-identical for "
                   "any number of threads.",
         .example = "--threads 1",
         .commands = {"train", "walk-forward", "search", "volume-profile", "features", "inspect", "predict",
                      "backtest", "import-model"},
         .part = SettingPart::machine},
        {.name = "checkpoint-interval",
         .field = &TrainConfig::checkpoint_interval,
         .value_name = "STEPS",
         .range = {.low = 0},
         .group = group,
         .brief = "Steps between checkpoints; 0: every epoch and every 30 s",
         .detail = "An explicit interval is honored and its cost is printed: writing a checkpoint safely to "
                   "disk takes longer than hundreds of steps.",
         .example = "--checkpoint-interval 50",
         .commands = validators},
        {.name = "keep-checkpoints",
         .field = &TrainConfig::keep_checkpoints,
         .value_name = "K",
         .range = {.low = 1},
         .group = group,
         .brief = "How many of the latest checkpoints to keep",
         .detail = "Older checkpoints of the run are deleted.",
         .example = "--keep-checkpoints 10",
         .commands = validators},
        {.name = "resume-from-checkpoint",
         .field = &TrainConfig::resume_from_checkpoint,
         .form = ValueKind::path,
         .value_name = "RUN",
         .group = group,
         .brief = "Resume the run in this folder, bit for bit",
         .detail = "RUN is a run folder. The run continues from its newest intact checkpoint and ends with "
                   "the same weights as if it had never stopped.",
         .example = "--resume-from-checkpoint TRAINING/train_20261121_101500",
         .commands = trainers},
    };
}

} // namespace rekindle::trainer::rows
