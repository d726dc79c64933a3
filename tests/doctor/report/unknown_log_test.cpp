/// What a report says about a log without a GPU failure, and about causes that a fact contradicts.

#include <rekindle/doctor/report.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace rekindle::doctor {
namespace {

Report report_of(std::string_view text, Facts facts = {}) {
    const LogText log = log_from_text(text, "posted");
    return make_report(std::move(facts), {}, &log, embedded_knowledge());
}

TEST(UnknownLog, TheProgramsOwnExceptionIsNamedWithItsPlace) {
    const Report report =
        report_of("Traceback (most recent call last):\n"
                  "  File \"/srv/job/train.py\", line 77, in main\n    step()\n"
                  "  File \"/srv/env/lib/python3.12/site-packages/torch/a.py\", line 9, in f\n"
                  "KeyError: 'labels'\n");
    EXPECT_TRUE(
        report.verdict.starts_with("No GPU failure in this log: it ends with KeyError in train.py:77."))
        << report.verdict;
}

TEST(UnknownLog, AnExceptionOfTheGpuIsNoneOfTheProgram) {
    const Report report = report_of("Traceback (most recent call last):\n  File \"train.py\", line 3, in f\n"
                                    "torch.OutOfMemoryError: CUDA out of memory.\n");
    EXPECT_EQ(report.verdict.find("No GPU failure"), std::string::npos) << report.verdict;
}

TEST(UnknownLog, AtMostThreeQuestionsAndWhatWasRecognized) {
    const Report report = report_of("Segmentation fault (core dumped)\n");
    EXPECT_LE(report.ask.size(), 3U);
    EXPECT_FALSE(report.ask.empty());
    const nlohmann::ordered_json json = to_json(report, embedded_knowledge());
    ASSERT_FALSE(json.at("recognized").empty());
    EXPECT_TRUE(json.at("recognized").at(0).contains("means"));
    EXPECT_TRUE(json.contains("candidates"));
    EXPECT_TRUE(json.contains("ruled_out"));
}

Facts host_with(const std::string& gpu, const std::string& gfx, const std::string& torch) {
    Facts facts;
    facts.origin = "a posted case";
    Gpu card;
    card.address = "case:0";
    card.vendor = "amd";
    card.name = {gpu, "posted"};
    card.gfx = {gfx, "posted"};
    facts.gpus = {card};
    facts.pythons.emplace_back().torch = {torch, "posted"};
    return facts;
}

bool names(const std::vector<Finding>& findings, const std::string& cause) {
    return std::any_of(findings.begin(), findings.end(),
                       [&](const Finding& one) { return one.cause == cause; });
}

TEST(RuledOut, AWheelThatHasTheTargetIsNotTheCause) {
    const Report report = report_of("RuntimeError: HIP error: no kernel image is available\n",
                                    host_with("Radeon RX 7900 XTX", "gfx1100", "2.5.1+rocm6.2"));
    EXPECT_FALSE(names(report.findings, "wheel-lacks-gfx"));
    const auto found = std::find_if(report.ruled_out.begin(), report.ruled_out.end(),
                                    [](const RuledOut& one) { return one.cause == "wheel-lacks-gfx"; });
    ASSERT_NE(found, report.ruled_out.end());
    EXPECT_EQ(found->fact, "wheel_contains_gfx");
    EXPECT_EQ(found->value, "true");
}

TEST(RuledOut, AnApertureViolationOnRdna3IsNotRdna1AsGfx1030) {
    const Report report =
        report_of("HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION: The agent attempted to access memory beyond "
                  "the largest legal address.\n",
                  host_with("Radeon RX 7900 XTX", "gfx1100", "2.5.1+rocm6.2"));
    EXPECT_FALSE(names(report.findings, "gfx1010-as-gfx1030-broken-since-rocm5.3"));
}

TEST(RuledOut, FullMemoryInTheSameLogNamesItsHolders) {
    const Report report = report_of("GPU[0] : VRAM Total Memory (B): 21458059264\n"
                                    "GPU[0] : VRAM Total Used Memory (B): 21457534976\n"
                                    "RuntimeError: CUDA error: HIPBLAS_STATUS_ALLOC_FAILED when calling "
                                    "`hipblasCreate(handle)`\n");
    ASSERT_FALSE(report.findings.empty());
    EXPECT_EQ(report.findings[0].cause, "vram-held-by-other-process");
}

} // namespace
} // namespace rekindle::doctor
