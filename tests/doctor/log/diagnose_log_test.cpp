#include "log/derived_keys.h"
#include "log/log_diagnoser.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <random>

namespace rekindle::doctor {
namespace {

Condition key_is(std::string name, std::string value) {
    Condition condition;
    condition.key = std::move(name);
    condition.values = {std::move(value)};
    return condition;
}

Cause cause(std::string slug, Severity severity = Severity::problem) {
    Cause made;
    made.slug = std::move(slug);
    made.sentence = "A sentence about " + made.slug + ".";
    made.severity = severity;
    return made;
}

struct Likely {
    std::string cause;
    std::string strength;
    Condition when;
};

Signature signature(std::string id, std::string pattern, std::vector<Likely> candidates,
                    bool harmless = false) {
    Signature made;
    made.id = std::move(id);
    made.title = "the title of " + made.id;
    made.means = "what it says";
    made.patterns = {std::move(pattern)};
    made.harmless = harmless;
    for (Likely& likely : candidates)
        made.candidates.push_back({likely.cause, likely.strength, likely.when, ""});
    return made;
}

/// A small world: a generic last line, a specific line, one text with two causes, a warning.
class Engine : public testing::Test {
  protected:
    Engine() {
        for (const char* slug : {"crash", "missing-code", "wrong-wheel", "wrong-card", "full-memory"})
            knowledge_.causes.push_back(cause(slug));
        knowledge_.causes.push_back(cause("warning-only", Severity::note));
        knowledge_.signatures = {
            signature("segfault", "^segmentation fault", {{"crash", "possible", {}}}),
            signature("no-code", "no compatible code objects found", {{"missing-code", "strong", {}}}),
            signature("invalid", "invalid device function",
                      {{"wrong-wheel", "strong", key_is("gfx", "gfx1010")},
                       {"wrong-card", "strong", key_is("devices", ">=2")}}),
            signature("oom", "out of memory",
                      {{"full-memory", "decisive", key_is("oom.free_share", "<0.1")}}),
            signature("warning", "falling back to hipblas", {{"warning-only", "decisive", {}}}, true),
            signature("lt", "hipblas", {{"wrong-card", "strong", {}}}),
        };
    }
    LogDiagnosis diagnose(std::string_view text, const Facts& facts = {}) {
        return diagnose_log(log_from_text(text, "posted"), facts, knowledge_);
    }
    static Facts cards(std::vector<std::string> targets) {
        Facts facts;
        facts.origin = "this host";
        for (std::string& target : targets) {
            Gpu gpu;
            gpu.vendor = "amd";
            gpu.gfx = {std::move(target), "/sys/class/kfd"};
            facts.gpus.push_back(std::move(gpu));
        }
        return facts;
    }
    Knowledge knowledge_;
};

TEST_F(Engine, OnlyACorroboratedCauseIsThePrimaryOne) {
    const auto primary = [&](std::string_view text, const Facts& facts = {}) {
        const LogDiagnosis found = diagnose(text, facts);
        return !found.findings.empty() && found.findings[0].primary;
    };
    EXPECT_FALSE(primary("No compatible code objects found for: gfx1152\n"));
    EXPECT_TRUE(primary("RuntimeError: invalid device function\n", cards({"gfx1010"}))) << "a fact agrees";
    knowledge_.signatures.push_back(signature("bundle", "missing CO", {{"missing-code", "strong", {}}}));
    EXPECT_TRUE(primary("missing CO for these ISAs\nNo compatible code objects found for: gfx1152\n"));
    EXPECT_FALSE(primary("missing CO: no compatible code objects found\n")) << "two patterns, one message";
}

TEST_F(Engine, AGenericLastLineDoesNotBeatASpecificLine) {
    const LogDiagnosis found =
        diagnose("No compatible code objects found for: gfx1152\nSegmentation fault\n");
    ASSERT_EQ(found.findings.size(), 1U) << "a cause that is only possible is not a finding";
    EXPECT_EQ(found.findings[0].cause, "missing-code");
    EXPECT_FALSE(found.findings[0].primary) << "one message that no fact confirms and that proves nothing";
    EXPECT_EQ(found.findings[0].statement, "A sentence about missing-code.");
    EXPECT_EQ(found.findings[0].signatures, std::vector<std::string>{"no-code"});
    ASSERT_FALSE(found.findings[0].evidence.empty());
    EXPECT_EQ(found.findings[0].evidence[0].source, "log line 1");
    EXPECT_EQ(found.findings[0].evidence[0].value, "No compatible code objects found for: gfx1152");
    EXPECT_EQ(found.findings[0].parameters.at("gfx"), "gfx1152");
    EXPECT_TRUE(found.ask.empty());
}

TEST_F(Engine, TheSameTextHasDifferentCausesOnDifferentHosts) {
    const char* text = "RuntimeError: HIP error: invalid device function\n";
    EXPECT_EQ(diagnose(text, cards({"gfx1010"})).findings.at(0).cause, "wrong-wheel");
    EXPECT_EQ(diagnose(text, cards({"gfx1100", "gfx1036"})).findings.at(0).cause, "wrong-card");
    const LogDiagnosis both = diagnose(text);
    EXPECT_TRUE(both.findings.empty()) << "nothing decides between them";
    ASSERT_GE(both.ask.size(), 2U);
    EXPECT_TRUE(both.ask[0].starts_with("gfx") || both.ask[0].starts_with("gpu")) << both.ask[0];
    EXPECT_TRUE(diagnose(text, cards({"gfx1100"})).findings.empty()) << "both are ruled out";
}

TEST_F(Engine, TheEvidenceIncludesWhatDecided) {
    const auto evidence = diagnose("invalid device function", cards({"gfx1010"})).findings.at(0).evidence;
    ASSERT_EQ(evidence.size(), 2U);
    EXPECT_EQ(evidence[1].what, "gfx");
    EXPECT_EQ(evidence[1].source, "/sys/class/kfd");
}

/// torch 2.1 spells it "capty".
TEST_F(Engine, CausesOfVendorsThatTheHostDoesNotHaveAreNotListed) {
    knowledge_.signatures.push_back(signature("sees-none", "^False$", {{"wrong-wheel", "strong", {}}}));
    Cause& wheel = *std::ranges::find(knowledge_.causes, "wrong-wheel", &Cause::slug);
    wheel.vendors = {"amd"};
    const auto listed = [&](const std::string& log, const std::vector<std::string>& vendors) {
        Facts facts;
        facts.origin = "this host";
        for (const std::string& vendor : vendors)
            facts.gpus.emplace_back().vendor = vendor;
        return !diagnose(log, facts).findings.empty();
    };
    EXPECT_TRUE(listed("False\n", {})) << "nothing is known of the host";
    EXPECT_TRUE(listed("False\n", {"amd"}));
    EXPECT_TRUE(listed("False\n", {"nvidia", "amd"}));
    EXPECT_FALSE(listed("False\n", {"nvidia"}));
    EXPECT_FALSE(listed("False\n", {"intel", "nvidia"}));
    EXPECT_TRUE(listed("hipErrorNoDevice\nFalse\n", {"nvidia"})) << "the log is from another host";
    EXPECT_FALSE(listed("NVIDIA GeForce RTX 4090\nFalse\n", {})) << "the log counts, too";
    EXPECT_TRUE(listed("torch 2.5.1+rocm6.2\nnvidia-smi: not found\nFalse\n", {}));
    wheel.vendors = {};
    EXPECT_TRUE(listed("False\n", {"nvidia"}));
}

/// The knowledge itself: lines that drivers of several vendors print.
TEST(LogDiagnosis, NamesNoCauseOfAnotherVendor) {
    const Knowledge& knowledge = embedded_knowledge();
    std::size_t with_vendors = 0;
    for (const Cause& cause : knowledge.causes)
        with_vendors += cause.vendors.empty() ? 0 : 1;
    EXPECT_GT(with_vendors, 40u);
    LogDiagnoser diagnoser(knowledge);
    const auto expect_none = [&](const std::string& log, const std::string& vendor, int wsl) {
        Facts facts;
        facts.origin = "this host";
        facts.system.wsl = {wsl, "/proc/version"};
        facts.gpus.emplace_back().vendor = vendor;
        for (const Finding& finding : diagnoser.diagnose(log_from_text(log, "posted"), facts).findings) {
            const Cause* cause = knowledge.cause(finding.cause);
            ASSERT_NE(cause, nullptr) << finding.cause;
            EXPECT_TRUE(cause->vendors.empty() || std::ranges::count(cause->vendors, vendor) > 0)
                << finding.cause << " on a host of " << vendor << ", wsl " << wsl << ": " << log;
        }
    };
    for (const char* log :
         {">>> torch.cuda.is_available()\nFalse\n", "Device count: 0\nFalse\n",
          "RuntimeError: CUDA error: no kernel image is available for execution on the device\n",
          "RuntimeError: CUDA error: invalid device function\n",
          "RuntimeError: CUDA error: device kernel image is invalid\n",
          "CUDA error: shared object initialization failed\n", "Segmentation fault\n",
          "RuntimeError: CUDA error: invalid device ordinal\n", "RuntimeError: CUDA error: out of memory\n",
          "RuntimeError: Found no NVIDIA driver on your system.\n"})
        for (const char* vendor : {"amd", "nvidia", "intel"})
            for (const int wsl : {0, 2})
                expect_none(log, vendor, wsl);
}

TEST(LogDiagnosis, AKilledWorkerIsNoExhaustedMemoryWhereTheKernelKilledNothing) {
    const std::string worker = "RuntimeError: DataLoader worker (pid 4711) is killed by signal: Killed. \n";
    const std::string refused = "MemoryError: Unable to allocate 80.0 GiB for an array\n";
    using Lines = std::vector<std::string>;
    const Lines other{"[   12.0] amdgpu 0000:03:00.0: reset"};
    const Lines kill{"[   99.0] Memory cgroup out of memory: Killed process 4711 (python3)"};
    Facts facts;
    facts.origin = "this machine";
    const auto names = [&](const char* cause, const std::string& text) {
        const LogDiagnosis diagnosis =
            diagnose_log(log_from_text(text, "posted"), facts, embedded_knowledge());
        return std::ranges::count(diagnosis.findings, cause, &Finding::cause) > 0;
    };
    const auto names_memory = [&](const std::string& text) { return names("host-memory-exhausted", text); };
    const std::string rank =
        "E1126 01:58:00 714 api.py:986] failed (exitcode: -9) local_rank: 1 (pid: 740) of binary: python\n";
    EXPECT_TRUE(names_memory(worker)) << "the kernel's log is unknown";
    facts.kernel_log.lines = {other, "/dev/kmsg"};
    EXPECT_FALSE(names_memory(worker));
    EXPECT_FALSE(names_memory(rank));
    EXPECT_TRUE(names_memory(refused));
    for (const std::string& text : {worker, rank})
        EXPECT_TRUE(names("process-killed-by-other", text)) << text;
    EXPECT_FALSE(names("process-killed-by-other", refused));
    facts.kernel_log.lines = {kill, "/dev/kmsg"};
    EXPECT_TRUE(names_memory(worker));
    facts.origin = "a posted case";
    facts.kernel_log.lines = {other, "posted"};
    EXPECT_TRUE(names_memory(worker)) << "an excerpt proves nothing";
}

TEST_F(Engine, NumbersInAMessageAreFacts) {
    const char* full =
        "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity "
        "of "
        "8.00 GiB of which 512.00 MiB is free. Of the allocated memory 7.00 GiB is allocated by PyTorch, and "
        "256.00 MiB is reserved by PyTorch but unallocated.\n";
    EXPECT_EQ(diagnose(full).findings.at(0).cause, "full-memory");
    const char* empty = "HIP out of memory. GPU 0 has a total capty of 8.00 GiB of which 7.50 GiB is free.\n";
    EXPECT_TRUE(diagnose(empty).findings.empty());
    EXPECT_EQ(diagnose(std::string(empty) + full).findings.size(), 1U) << "the last message counts";
    EXPECT_TRUE(diagnose(std::string(full) + empty).findings.empty());
}

TEST_F(Engine, HarmlessLinesAreNoticedAndNeverTheCause) {
    const LogDiagnosis alone = diagnose("UserWarning: unsupported, falling back to hipblas\n");
    ASSERT_EQ(alone.findings.size(), 1U) << "\"hipblas\" in it is not an error";
    EXPECT_EQ(alone.findings[0].cause, "warning-only");
    EXPECT_EQ(alone.findings[0].severity, Severity::note);
    EXPECT_FALSE(alone.findings[0].primary);
    EXPECT_EQ(alone.noticed.size(), 1U);
    EXPECT_FALSE(alone.ask.empty()) << "what the real error is";
    const LogDiagnosis with_error = diagnose("falling back to hipblas\nno compatible code objects found\n");
    EXPECT_EQ(with_error.findings.at(0).cause, "missing-code");
    EXPECT_EQ(with_error.findings.back().cause, "warning-only");
}

TEST_F(Engine, FactsFromTheLogAddToThoseOfTheHost) {
    const char* list = "['AMD Radeon(TM) Graphics', 'AMD Radeon RX 7900 XT']\ninvalid device function\n";
    EXPECT_EQ(diagnose(list).findings.at(0).cause, "wrong-card");
    EXPECT_EQ(diagnose("Device 0: AMD Radeon RX 5700 XT, gfx1010 (0x1010)\ninvalid device function\n")
                  .findings.at(0)
                  .cause,
              "wrong-wheel");
}

Situation shown(std::string_view text) {
    LinePatterns patterns;
    LogFacts facts(patterns);
    patterns.compile();
    const LogText log = log_from_text(text, "posted");
    std::vector<int> numbers;
    for (auto line = log.lines.rbegin(); line != log.lines.rend(); ++line) {
        patterns.match(line->text, numbers);
        for (const int number : numbers)
            facts.take(number, line->text, fmt::format("log line {}", line->number), embedded_knowledge());
    }
    Situation situation;
    add_shown(situation, facts.shown(), embedded_knowledge());
    derive(situation, embedded_knowledge());
    return situation;
}

TEST(LogFacts, DevicesVersionsAndSystems) {
    EXPECT_TRUE(shown("  Device 0: AMD Radeon Graphics, gfx1152 (0x1152), VMM: no").has("gfx", "gfx1152"));
    EXPECT_TRUE(shown("  Name:                    gfx1031").has("gfx", "gfx1031"));
    EXPECT_FALSE(shown("supported: gfx900 gfx906 gfx1030 gfx1100").has("gfx", "gfx900"));
    EXPECT_TRUE(shown("for GPU arch : gfx1036").has("message_gfx_integrated", "true"));
    EXPECT_TRUE(shown("NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible")
                    .has("compute_capability", "12.0"));
    EXPECT_EQ(shown("2.10.0+rocm7.13.0a20260508 True").first("torch"), "2.10.0+rocm7.13.0a20260508");
    EXPECT_EQ(shown("torch-2.4.0+cu121\nSuccessfully installed torch-2.5.1+rocm6.2").first("torch"),
              "2.5.1+rocm6.2");
    EXPECT_EQ(shown("[pip3] numpy==2.2.6").first("package.numpy"), "2.2.6");
    EXPECT_EQ(shown("  File \"/venv/lib/python3.12/site-packages/torch/x.py\"").first("python"), "3.12");
    EXPECT_TRUE(shown("  File \"/home/u/my models/venv/lib/python3.12/site-packages/x.py\"")
                    .has("space_in_path", "true"));
    EXPECT_EQ(shown("Linux version 6.8.0-45-generic (buildd@x)").first("kernel"), "6.8.0-45-generic");
    EXPECT_TRUE(shown("5.15.153.1-microsoft-standard-WSL2").has("wsl", "true"));
    EXPECT_TRUE(shown("C:\\Users\\me\\ComfyUI>").has("os", "Windows"));
    EXPECT_TRUE(shown("root@0123456789ab:/workspace# python train.py").has("container", "true"));
    EXPECT_EQ(shown("ImportError: libamdhip64.so.6: cannot open shared object file").first("soname"),
              "libamdhip64.so.6");
    EXPECT_TRUE(shown("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31\nNVML library "
                      "version: 550.107")
                    .has("driver_mismatch", "true"));
}

TEST(LogFacts, AdviceIsNotAnAssignment) {
    EXPECT_EQ(shown("export HSA_OVERRIDE_GFX_VERSION=10.3.0").first("env.HSA_OVERRIDE_GFX_VERSION"),
              "10.3.0");
    EXPECT_EQ(shown("$ HSA_OVERRIDE_GFX_VERSION=11.0.0 HIP_VISIBLE_DEVICES=0 python x.py")
                  .first("env.HIP_VISIBLE_DEVICES"),
              "0");
    EXPECT_EQ(
        shown("docker run -e HSA_OVERRIDE_GFX_VERSION=11.0.0 image").first("env.HSA_OVERRIDE_GFX_VERSION"),
        "11.0.0");
    EXPECT_EQ(shown("For debugging consider passing AMD_SERIALIZE_KERNEL=3").find("env.AMD_SERIALIZE_KERNEL"),
              nullptr);
    EXPECT_EQ(shown("try setting PYTORCH_HIP_ALLOC_CONF=expandable_segments:True to avoid")
                  .find("env.PYTORCH_HIP_ALLOC_CONF"),
              nullptr);
}

TEST(LogDiagnosis, AnyTextGivesAnAnswer) {
    LogDiagnoser diagnoser(embedded_knowledge());
    std::string base;
    for (const Signature& one : embedded_knowledge().signatures)
        base += one.title + " gfx1100 2.5.1+rocm6.2 out of memory. Tried to allocate 1 GiB HIP error: "
                            "invalid device function\n";
    std::mt19937 random(3);
    for (int round = 0; round < 300; ++round) {
        std::string text = base.substr(random() % base.size(), random() % 600);
        for (auto change = random() % 8; change > 0 && !text.empty(); --change)
            text[random() % text.size()] = static_cast<char>(random() % 256);
        const LogDiagnosis found = diagnoser.diagnose(log_from_text(text, "fuzz"), {});
        ASSERT_TRUE(!found.findings.empty() || !found.ask.empty());
        ASSERT_LE(std::count_if(found.findings.begin(), found.findings.end(),
                                [](const Finding& one) { return one.primary; }),
                  1);
        for (std::size_t i = 1; i < found.findings.size(); ++i)
            ASSERT_TRUE(found.findings[i - 1].severity != Severity::note ||
                        found.findings[i].severity == Severity::note ||
                        found.findings[i - 1].score >= found.findings[i].score);
    }
}

// The time is printed, not checked; ctest ends what never ends.
TEST(LogDiagnosis, EightMebibytesAreRead) {
    std::string text;
    for (int i = 0; text.size() < (std::size_t{8} << 20); ++i)
        text += fmt::format("2026-11-21 13:25:{:02} [INFO] Epoch {} step {}: loss 0.{} | lr 1e-3 | GPU "
                            "memory 19.4 GiB of 20.0 GiB\n",
                            i % 60, i / 1000, i, i * 7919 % 10000);
    text += "RuntimeError: HIP error: invalid device function\n";
    const LogText log = log_from_text(text, "training.log");
    const std::clock_t begin = std::clock();
    const LogDiagnosis found = diagnose_log(log, {}, embedded_knowledge());
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    fmt::print("8 MiB of {} lines: {:.3f} s of CPU time\n", log.lines.size(), seconds);
    EXPECT_FALSE(found.findings.empty());
}

} // namespace
} // namespace rekindle::doctor
