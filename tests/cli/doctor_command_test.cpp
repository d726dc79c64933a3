#include "process.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <set>
#include <sstream>

namespace rekindle::cli {
namespace {

constexpr const char* held_memory = R"({
  "schema": 1,
  "origin": "a recorded host",
  "system": {"os_name": "Ubuntu 22.04.5 LTS", "kernel": "6.8.0-45-generic", "container": "none", "wsl": 0,
             "device_nodes": [{"path": "/dev/kfd", "exists": true, "usable": true}]},
  "kfd": true,
  "gpus": [{"address": "0000:03:00.0", "vendor": "amd", "pci_id": "1002:744c", "revision": "cc", "gfx": "gfx1100",
            "kfd_node": 1, "integrated": false, "vram_total": 21458059264, "vram_used": 21443379200,
            "holders": [{"pid": 4711, "command": "python3", "vram": 21401436160, "source": "/proc/4711/fdinfo/12"}]}],
  "pythons": [{"path": "/home/anna/venv", "interpreter": "/home/anna/venv/bin/python3", "kind": "venv", "active": true,
               "version": "3.10", "torch": "2.5.1+rocm6.2", "torch_kind": "rocm", "rocm_style": "bundled"}]
})";

Finished doctor(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "doctor");
    return rekindle(std::move(arguments));
}

TEST(DoctorCommand, HostWithoutAGpuIsNotAnError) {
    const Finished finished = doctor({"--probe", "none", "--json"});
    ASSERT_TRUE(finished.status == 0 || finished.status == 1) << finished.errors;
    const nlohmann::json json = nlohmann::json::parse(finished.output); // JSON alone on standard output
    EXPECT_EQ(json.at("schema"), "rekindle-doctor/1");
    if (json.at("facts").contains("gpus"))
        GTEST_SKIP() << "skipped: this machine has a GPU";
    EXPECT_EQ(finished.status, 0) << finished.output;
    EXPECT_NE(json.at("verdict").get<std::string>().find("No GPU"), std::string::npos) << json.at("verdict");
}

TEST(DoctorCommand, RecordedHostGivesTheSameFindings) {
    const TemporaryFolder folder;
    const std::string file = folder.file("host.json", held_memory);
    const Finished first = doctor({"--replay", file, "--json"});
    EXPECT_EQ(first.status, 1) << first.errors;
    const nlohmann::json json = nlohmann::json::parse(first.output);
    ASSERT_FALSE(json.at("findings").empty()) << first.output;
    EXPECT_EQ(json.at("findings").at(0).at("cause"), "vram-held-by-other-process");
    const std::string again = folder.file("again.json", first.output);
    EXPECT_EQ(doctor({"--replay", again, "--json"}).output, first.output);
}

TEST(DoctorCommand, ShowsFindingsFromFactsInAdditionToALog) {
    const TemporaryFolder folder;
    const std::string host = folder.file("host.json", held_memory);
    const std::string log = folder.file("train.log", "ValueError: Expected 2D array, got 1D array instead\n");
    const Finished finished = doctor({"--replay", host, "--log", log});
    EXPECT_NE(finished.output.find("The facts alone also show"), std::string::npos) << finished.output;
    EXPECT_NE(finished.output.find("4711"), std::string::npos) << finished.output;
}

TEST(DoctorCommand, ScreenNamesPidMemoryAndCause) {
    const TemporaryFolder folder;
    const Finished finished = doctor({"--replay", folder.file("host.json", held_memory)});
    EXPECT_EQ(finished.status, 1);
    for (const char* part : {"4711", "Radeon RX 7900 XT", "gfx1100", "Plan", "Stop:"})
        EXPECT_NE(finished.output.find(part), std::string::npos) << part << " is missing in\n"
                                                                 << finished.output;
    EXPECT_EQ(finished.output.find("/opt/rocm/bin"), std::string::npos);
}

TEST(DoctorCommand, ReportHasNoNames) {
    const TemporaryFolder folder;
    const std::string file = folder.file("host.json", held_memory);
    for (const char* name : {"report.md", "report.json"}) {
        const std::string report = folder.path() + "/" + name;
        EXPECT_EQ(doctor({"--replay", file, "--report", report}).status, 1);
        std::ostringstream text;
        text << std::ifstream(report).rdbuf();
        EXPECT_EQ(text.str().find("anna"), std::string::npos) << text.str();
        EXPECT_NE(text.str().find("4711"), std::string::npos) << text.str();
    }
}

TEST(DoctorCommand, UnknownLogAsksForFacts) {
    const TemporaryFolder folder;
    const Finished finished =
        doctor({"--log", folder.file("a.log", "RuntimeError: HIP error: unspecified oddity 17\n"), "--json"});
    EXPECT_EQ(finished.status, 1) << finished.errors;
    const nlohmann::json json = nlohmann::json::parse(finished.output);
    EXPECT_TRUE(json.at("findings").empty()) << finished.output;
    EXPECT_FALSE(json.at("ask").empty());
}

TEST(DoctorCommand, UsageErrorsSayWhatIsExpected) {
    const TemporaryFolder folder;
    const auto error = [](const Finished& finished) {
        EXPECT_EQ(finished.status, 2) << finished.output;
        return finished.errors;
    };
    EXPECT_NE(error(doctor({"--review", "a", "--explain", "b"})).find("cannot be combined"),
              std::string::npos);
    EXPECT_NE(error(doctor({"--yes"})).find("--fix ID"), std::string::npos);
    EXPECT_NE(error(doctor({"--price", "300"})).find("--alternatives"), std::string::npos);
    EXPECT_NE(error(doctor({"--matrix", "gfx9999"})).find("not a known gfx target"), std::string::npos);
    EXPECT_NE(error(doctor({"--log", "/no/such/file"})).find("/no/such/file"), std::string::npos);
    EXPECT_NE(error(doctor({"--replay", folder.file("bad.json", "{")})).find("not JSON"), std::string::npos);
    EXPECT_NE(error(doctor({"--replay", folder.file("host.json", held_memory), "--fix", "no-such-step"}))
                  .find("no step"),
              std::string::npos);
    EXPECT_NE(error(doctor({"--probe", "some"})).find("none, safe, all"), std::string::npos);
    EXPECT_NE(error(doctor({"--python", "/no/such/python3"})).find("/no/such/python3"), std::string::npos);
    EXPECT_NE(error(doctor({"--root", "/no/such/root"})).find("/no/such/root"), std::string::npos);
    EXPECT_NE(error(doctor({"--pid", "4194304"})).find("4194304"), std::string::npos);
    EXPECT_EQ(doctor({"--explain", "zzqx"}).status, 1);
}

TEST(DoctorCommand, EveryLookupPrintsOneJsonObject) {
    const TemporaryFolder folder;
    const std::string document = folder.file(
        "a.md",
        "HIPBLAS_LAYER=1\n\n    RuntimeError: HIP error: invalid device function\n\nrm -rf /opt/rocm\n");
    const auto json_of = [](std::vector<std::string> arguments) {
        arguments.emplace_back("--json");
        const Finished finished = doctor(arguments);
        EXPECT_LE(finished.status, 1) << finished.errors;
        nlohmann::json json = nlohmann::json::parse(finished.output);
        EXPECT_EQ(json.at("schema"), "rekindle-doctor/1");
        for (const char* key : {"recognized", "candidates", "ruled_out", "findings", "ask"})
            EXPECT_TRUE(json.at(key).is_array()) << key;
        return json;
    };
    const nlohmann::json review = json_of({"--review", document});
    EXPECT_EQ(review.at("lookup"), "review");
    EXPECT_EQ(review.at("marks").at(0).at("verdict"), "no effect");
    EXPECT_EQ(review.at("marks").back().at("line"), 5);
    EXPECT_FALSE(review.at("recognized").empty()) << "the document quotes an error";
    EXPECT_FALSE(json_of({"--explain", "gfx1010"}).at("paragraphs").empty());
    EXPECT_FALSE(
        json_of({"--explain", "RuntimeError: HIP error: invalid device function"}).at("recognized").empty());
    const nlohmann::json matrix = json_of({"--matrix", "gfx1010"});
    EXPECT_TRUE(matrix.at("rows").at(0).contains("contains"));
    EXPECT_FALSE(matrix.at("rows").at(0).at("checked").get<std::string>().empty());
    const std::string host = folder.file("host.json", held_memory);
    EXPECT_FALSE(json_of({"--alternatives", "--replay", host}).at("options").empty());
}

TEST(DoctorCommand, LookupsTakeRecordedFacts) {
    const TemporaryFolder folder;
    const std::string host = folder.file("host.json", held_memory); // an RX 7900 XT
    const Finished matrix = doctor({"--matrix", "--replay", host});
    EXPECT_EQ(matrix.status, 0) << matrix.errors;
    EXPECT_NE(matrix.output.find("for gfx1100"), std::string::npos) << matrix.output;
    // The text names no GPU, so only the recorded one shows that the override is unsafe.
    const std::string document = folder.file("a.md", "export HSA_OVERRIDE_GFX_VERSION=10.3.0\n");
    EXPECT_EQ(doctor({"--review", document}).status, 0);
    EXPECT_EQ(doctor({"--review", document, "--replay", host}).status, 1);
    const std::string error =
        "RuntimeError: HIP error: no kernel image is available for execution on the device";
    const Finished explained = doctor({"--explain", error, "--replay", host});
    EXPECT_EQ(explained.status, 0) << explained.errors;
    EXPECT_NE(explained.output.find("Ruled out on the"), std::string::npos) << explained.output;
    const nlohmann::json there =
        nlohmann::json::parse(doctor({"--explain", error, "--replay", host, "--json"}).output);
    std::set<std::string> ruled_out;
    for (const nlohmann::json& one : there.at("ruled_out"))
        ruled_out.insert(one.at("cause"));
    EXPECT_TRUE(ruled_out.contains("wheel-lacks-gfx")) << "torch 2.5.1+rocm6.2 has code for gfx1100";
    EXPECT_TRUE(ruled_out.contains("space-in-path")) << "the environment is /home/anna/venv";
    EXPECT_TRUE(there.at("findings").empty()) << there.at("findings");
    EXPECT_FALSE(there.at("devices").empty());
    const std::string without_gpu =
        folder.file("bare.json", R"({"schema": 1, "system": {"kernel": "6.8.0"}})");
    EXPECT_NE(doctor({"--matrix", "--replay", without_gpu}).output.find("all known wheels"),
              std::string::npos);
    EXPECT_EQ(doctor({"--root", folder.path(), "--replay", host}).status, 2);
    EXPECT_EQ(doctor({"--review", document, "--matrix", "--replay", host}).status, 2);
    EXPECT_EQ(doctor({"--check-knowledge", folder.path(), "--json"}).status, 2);
}

TEST(DoctorCommand, LooksUpMatrixTermsAndDocuments) {
    const Finished matrix = doctor({"--matrix", "RX 5600 XT"});
    EXPECT_EQ(matrix.status, 0) << matrix.errors;
    EXPECT_NE(matrix.output.find("gfx1010"), std::string::npos) << matrix.output;
    EXPECT_EQ(doctor({"--matrix"}).status, 0);
    const Finished variable = doctor({"--explain", "HIPBLAS_LAYER"});
    EXPECT_EQ(variable.status, 0) << variable.errors;
    const TemporaryFolder folder;
    const Finished review =
        doctor({"--review", folder.file("fix.md", "export HIPBLAS_LAYER=1\npip install torch==2.5.1 "
                                                  "--index-url https://download.pytorch.org/whl/rocm6.3\n")});
    EXPECT_EQ(review.status, 1) << review.errors;
    EXPECT_NE(review.output.find("line 2"), std::string::npos) << review.output;
}

TEST(DoctorCommand, ChecksAKnowledgeFolder) {
    const TemporaryFolder folder;
    folder.file("causes.yaml", "- slug: broken\n  no_such_key: 1\n");
    const Finished check = doctor({"--check-knowledge", folder.path()});
    EXPECT_EQ(check.status, 1) << check.errors;
    EXPECT_NE(check.output.find("causes.yaml:"), std::string::npos) << check.output;
}

} // namespace
} // namespace rekindle::cli
