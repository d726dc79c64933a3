/// Logs of runs that ended well, recovered, or in which another program failed (data/harmless/): no
/// signature may report a failure for them.

#include "log/log_diagnoser.h"

#include <rekindle/doctor/report.h>
#include <rekindle/foundation/file.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace rekindle::doctor {
namespace {

namespace fs = std::filesystem;

struct HarmlessLog {
    std::string name;
    std::string text;
};

std::vector<HarmlessLog> harmless_logs() {
    std::vector<HarmlessLog> logs;
    for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(test::data_folder) / "harmless"))
        logs.push_back({entry.path().stem(), read_file(entry.path())});
    std::sort(logs.begin(), logs.end(),
              [](const HarmlessLog& a, const HarmlessLog& b) { return a.name < b.name; });
    return logs;
}

std::string alarms_of(const LogDiagnosis& diagnosis) {
    std::string text;
    for (const Finding& finding : diagnosis.findings)
        if (finding.severity != Severity::note)
            text += fmt::format(" {} ({:.2f}, {})", finding.cause, finding.score,
                                finding.evidence.empty() ? "" : finding.evidence.front().value);
    return text;
}

/// A machine with GPUs of the vendor on which the log may have been written.
Facts facts_with(const std::string& vendor, const std::string& name, const std::string& torch) {
    Facts facts;
    facts.origin = "a posted case";
    Gpu gpu;
    gpu.address = "case:0";
    gpu.vendor = vendor;
    gpu.name = {name, "posted"};
    facts.gpus = {gpu, gpu};
    facts.pythons.emplace_back().torch = {torch, "posted"};
    return facts;
}

TEST(HarmlessLogs, ThereAreAtLeastForty) {
    EXPECT_GE(harmless_logs().size(), 40U);
}

TEST(HarmlessLogs, NoSignatureReportsAFailure) {
    LogDiagnoser diagnoser(embedded_knowledge());
    const std::vector<Facts> hosts{{},
                                   facts_with("amd", "Radeon RX 7900 XT", "2.5.1+rocm6.2"),
                                   facts_with("amd", "Radeon RX 5600 XT", "2.5.1+rocm6.2"),
                                   facts_with("nvidia", "NVIDIA RTX A6000", "2.5.1+cu124")};
    std::size_t signatures = 0;
    for (const HarmlessLog& log : harmless_logs())
        for (const Facts& facts : hosts) {
            const LogDiagnosis diagnosis = diagnoser.diagnose(log_from_text(log.text, log.name), facts);
            EXPECT_EQ(alarms_of(diagnosis), "") << log.name;
            signatures += diagnosis.noticed.size();
        }
    EXPECT_GT(signatures, 40U) << "the logs show nothing that could be taken for a failure";
}

/// The same within other output: with the prefix of a logging system, and after the log of an earlier run.
TEST(HarmlessLogs, PrefixesAndEarlierRunsChangeNothing) {
    LogDiagnoser diagnoser(embedded_knowledge());
    const std::vector<HarmlessLog> logs = harmless_logs();
    for (std::size_t i = 0; i < logs.size(); ++i) {
        const std::string joined = logs[(i + 7) % logs.size()].text + logs[i].text;
        EXPECT_EQ(alarms_of(diagnoser.diagnose(log_from_text(joined, "joined"), {})), "") << logs[i].name;
    }
}

TEST(HarmlessLogs, ARunThatEndedWellIsReportedAsSuch) {
    for (const char* name : {"nccl-allreduce-benchmark", "rccl-two-cards-finished", "oom-batch-size-finder",
                             "hf-trainer-warnings-only", "pytest-gpu-suite", "slurm-job-ended-well"}) {
        const LogText log = log_from_text(
            read_file(fs::path(test::data_folder) / "harmless" / (std::string(name) + ".log")), name);
        const Report report = make_report({}, {}, &log, embedded_knowledge());
        EXPECT_EQ(report.outcome, Outcome::finished) << name;
        EXPECT_TRUE(report.ask.empty()) << name;
        EXPECT_TRUE(report.plan.steps.empty()) << name;
        EXPECT_NE(report.verdict.find("no failure"), std::string::npos) << report.verdict;
    }
}

TEST(HarmlessLogs, AnotherProgramKilledByTheKernelNeedsNoAction) {
    const LogText log = log_from_text(
        read_file(fs::path(test::data_folder) / "harmless" / "dmesg-browser-killed.log"), "kernel log");
    const LogDiagnosis diagnosis = diagnose_log(log, {}, embedded_knowledge());
    EXPECT_TRUE(diagnosis.findings.empty());
    EXPECT_TRUE(diagnosis.ask.empty());
    ASSERT_FALSE(diagnosis.noticed.empty());
    EXPECT_NE(diagnosis.noticed.front().find("chrome"), std::string::npos);
}

TEST(HarmlessLogs, TheSameLinesAtTheEndOfALogAreAFailure) {
    LogDiagnoser diagnoser(embedded_knowledge());
    const auto cause_of = [&](std::string_view text) {
        const LogDiagnosis diagnosis = diagnoser.diagnose(log_from_text(text, "made"), {});
        return diagnosis.findings.empty() ? std::string() : diagnosis.findings.front().cause;
    };
    const std::string progress = "epoch 1 loss 0.7 acc 0.6\nepoch 2 loss 0.6 acc 0.6\n";
    const std::string memory = "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 1.16 GiB. GPU 0 "
                               "has a total capacity of 19.98 GiB of "
                               "which 402.00 MiB is free. Of the allocated memory 18.71 GiB is allocated by "
                               "PyTorch, and 411.30 MiB is reserved by "
                               "PyTorch but unallocated.\n";
    EXPECT_EQ(cause_of(progress + memory), "oom-genuine");
    EXPECT_EQ(cause_of(memory + progress), "");
    EXPECT_EQ(cause_of(memory + "  0%|          | 0/30 [00:03<?, ?it/s]\n"), "oom-genuine")
        << "a bar that is drawn once more has not moved";
    const std::string kill =
        "Out of memory: Killed process 40022 ({}) total-vm:1188102344kB, anon-rss:2010112kB\n";
    EXPECT_EQ(cause_of(fmt::format(fmt::runtime(kill), "python3")), "host-memory-exhausted");
    EXPECT_EQ(cause_of(fmt::format(fmt::runtime(kill), "firefox")), "");
    EXPECT_EQ(cause_of("node:1:9 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via P2P/IPC\n"
                       "node:1:9 [0] NCCL INFO comm 0x5 rank 0 nranks 2 - Init COMPLETE\n"),
              "p2p-hang-acs")
        << "nothing follows";
    EXPECT_EQ(cause_of("loss: nan at step 10\n" + progress), "loss-diverged-not-gpu")
        << "a loss that is NaN stays wrong when the run continues";
}

} // namespace
} // namespace rekindle::doctor
