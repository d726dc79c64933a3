#include "report/redaction.h"

#include <rekindle/doctor/knowledge.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <marked_report.h>

namespace rekindle::doctor {
namespace {

Redactor of_anna() {
    Facts facts;
    facts.system.user_name = {"anna", "test"};
    facts.system.host_name = {"workbench", "test"};
    PythonEnvironment& python = facts.pythons.emplace_back();
    python.path = "/home/anna/my env";
    python.interpreter = "/home/anna/my env/bin/python3";
    return Redactor(facts);
}

TEST(Redaction, HidesPathsUsersAndHosts) {
    const Redactor redact = of_anna();
    EXPECT_EQ(redact("/home/anna/venv/lib/python3.10/site-packages/torch/lib/libtorch_hip.so"),
              "<path>/site-packages/torch/lib/libtorch_hip.so");
    EXPECT_EQ(redact("Nov 21 workbench kernel: amdgpu 0000:03:00.0: reset"),
              "Nov 21 <host> kernel: amdgpu 0000:03:00.0: reset");
    EXPECT_EQ(redact("anna is not in render"), "<user> is not in render");
    EXPECT_EQ(redact("File \"/mnt/secret/project/train.py\", line 3"), "File \"<path>\", line 3");
    EXPECT_EQ(redact("LD_LIBRARY_PATH=/opt/rocm/lib:/data/x/lib"), "LD_LIBRARY_PATH=/opt/rocm/lib:<path>");
}

TEST(Redaction, ASpaceInAPathStaysVisible) {
    EXPECT_EQ(of_anna()("interpreter /home/anna/my env/bin/python3 has a space"),
              "interpreter <path with a space>/bin/python3 has a space");
}

TEST(Redaction, KeepsWhatIsTheSameOnEveryHost) {
    const Redactor redact = of_anna();
    for (const char* text :
         {"/sys/class/drm/card1/device/mem_info_vram_used", "/dev/kfd", "/opt/rocm/.info/version",
          "6.2.41133-dd7f95766", "https://download.pytorch.org/whl/rocm6.2",
          "pid 4711 holds 21,443,379,200 bytes", "annabel", "a/b ratio", "21/11/2026"})
        EXPECT_EQ(redact(text), text);
}

/// A person's name in every string of a report. Ids of the knowledge, names of hardware and the states of
/// libraries are the same on every host.
TEST(Redaction, ChangesEveryStringOfAReport) {
    const std::vector<std::string_view> constant{".cause",
                                                 ".signatures[",
                                                 ".remedies[",
                                                 ".id",
                                                 ".where",
                                                 ".risk",
                                                 ".device",
                                                 ".code",
                                                 ".address",
                                                 ".name",
                                                 ".target",
                                                 ".memory",
                                                 ".means",
                                                 ".missing[",
                                                 ".fact",
                                                 "recognized[0].signature",
                                                 "recognized[0].title",
                                                 "recognized[1].signature",
                                                 "recognized[1].title"};
    Report report = test::report_of_everything();
    report.facts.system.user_name = {"anna", "test"};
    const test::ReportStrings fill(
        [](const std::string&, std::string& text) { text = "/home/anna/project/train.py of anna"; });
    fill(report);
    redact(report);
    std::size_t strings = 0;
    const test::ReportStrings look([&](const std::string& name, std::string& text) {
        ++strings;
        const bool same = std::any_of(constant.begin(), constant.end(), [&](std::string_view part) {
            return name.find(part) != std::string::npos;
        });
        EXPECT_EQ(text.find("anna") != std::string::npos, same) << name << ": " << text;
    });
    look(report);
    EXPECT_GE(strings, 150U);
}

/// Except what only fills in or runs the plan.
TEST(ReportJson, HasEveryStringOfAReport) {
    Report report = test::report_of_everything();
    std::map<std::string, std::string> names;
    const test::ReportStrings mark([&](const std::string& name, std::string& text) {
        text = "mark" + std::to_string(1000 + names.size());
        names[text] = name;
    });
    mark(report);
    const std::string json = to_json(report, embedded_knowledge()).dump();
    for (const auto& [text, name] : names) {
        const bool internal =
            name.find(".parameters.") != std::string::npos || name.ends_with(".environment");
        EXPECT_EQ(json.find(text) != std::string::npos, !internal) << name;
    }
}

TEST(Redaction, RootIsNotAName) {
    Facts facts;
    facts.system.user_name = {"root", "test"};
    EXPECT_EQ(Redactor(facts)("run as root"), "run as root");
}

} // namespace
} // namespace rekindle::doctor
