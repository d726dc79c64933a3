#include "probes/probe_child_program.h"
#include "probes/python_probes.h"

#include <rekindle/doctor/probe.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <temporary_folder.h>

namespace rekindle::doctor {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// A program that acts as the user's Python: it gets the arguments of torch_probes.py and writes the same
/// kind of lines; `cases` are branches of a shell `case` statement over the probe's name.
/// check_against_pytorch.sh tests real Pythons.
class FakePython {
  public:
    explicit FakePython(const std::string& cases, const std::string& devices = "cpu") {
        std::ofstream(path()) << R"(#!/bin/sh
cat >/dev/null
device=${3:-)" << devices.substr(0, devices.find(' '))
                              << R"(}
for probe in $(echo "$5" | tr , ' '); do
    echo "{\"at\": \"trying\", \"probe\": \"$probe\"}" >&3
    case $probe in
        )" << cases << R"(
        python-import) echo '{"result": {"id": "python-import", "status": "passed", "values": {"device_list": ")"
                              << devices << R"("}}}' >&3 ;;
        *) echo "{\"result\": {\"id\": \"$probe\", \"device\": \"$device\", \"status\": \"passed\", \"values\": {\"together\": \"$4\"}}}" >&3 ;;
    esac
done
)";
        fs::permissions(path(), fs::perms::owner_all);
    }
    std::string path() const { return (folder_ / "python3").string(); }

  private:
    test::TemporaryFolder folder_;
};

std::vector<ProbeResult> probe(const Facts& facts, ProbeOptions options) {
    options.program = test::probe_child();
    ProbeSession session(facts, options);
    run_python_probes(session);
    return session.take_results();
}

std::vector<ProbeResult> probe(const FakePython& python, std::chrono::milliseconds deadline = 10s) {
    ProbeOptions options;
    options.python = python.path();
    options.python_deadline = deadline;
    return probe({}, options);
}

const ProbeResult& result_of(const std::vector<ProbeResult>& results, const std::string& id) {
    static const ProbeResult none;
    const auto found = std::ranges::find(results, id, &ProbeResult::id);
    EXPECT_NE(found, results.end()) << id;
    return found == results.end() ? none : *found;
}

std::size_t passed(const std::vector<ProbeResult>& results) {
    return std::ranges::count(results, ProbeStatus::passed, &ProbeResult::status);
}

TEST(PythonProbes, OneChildReportsAllProbes) {
    const std::vector<ProbeResult> results = probe(FakePython("none) ;;"));
    EXPECT_EQ(results.size(), 17U);
    EXPECT_EQ(passed(results), 17U);
    EXPECT_EQ(results[0].id, "python-import");
    EXPECT_EQ(results[16].id, "python-compile");
    EXPECT_EQ(results[16].device, "cpu");
    EXPECT_EQ(results[16].values.at("together"), "apart") << "the level safe does not use two GPUs";
}

TEST(PythonProbes, AfterACrashTheNextChildContinues) {
    const std::vector<ProbeResult> results =
        probe(FakePython("python-fill) echo dying >&2; kill -SEGV $$ ;;\n python-addmm) exit 9 ;;"));
    EXPECT_EQ(results.size(), 17U);
    EXPECT_EQ(passed(results), 15U);
    EXPECT_EQ(result_of(results, "python-fill").status, ProbeStatus::crashed);
    EXPECT_EQ(result_of(results, "python-fill").signal, SIGSEGV);
    EXPECT_EQ(result_of(results, "python-fill").reason, "terminated by SIGSEGV (11), in trying");
    EXPECT_EQ(result_of(results, "python-fill").errors, "dying\n");
    EXPECT_EQ(result_of(results, "python-addmm").exit_status, 9);
    EXPECT_EQ(result_of(results, "python-compile").status, ProbeStatus::passed);
}

TEST(PythonProbes, AfterASecondHangTheRestIsSkipped) {
    const std::vector<ProbeResult> results =
        probe(FakePython("python-add | python-addmm) sleep 100 ;;"), 1500ms);
    EXPECT_EQ(results.size(), 17U);
    EXPECT_EQ(result_of(results, "python-add").status, ProbeStatus::timed_out);
    EXPECT_EQ(result_of(results, "python-matmul-fp32").status, ProbeStatus::passed);
    EXPECT_EQ(result_of(results, "python-addmm").status, ProbeStatus::timed_out);
    EXPECT_EQ(result_of(results, "python-compile").status, ProbeStatus::skipped);
    EXPECT_EQ(result_of(results, "python-compile").reason, "2 probes before this one hung on this device");
}

TEST(PythonProbes, EveryDeviceIsProbed) {
    const std::vector<ProbeResult> results = probe(FakePython("none) ;;", "cuda:0 cuda:1"));
    EXPECT_EQ(results.size(), 17U + 15U);
    EXPECT_EQ(result_of(results, "python-count").device, "cuda:0");
    EXPECT_EQ(results.back().device, "cuda:1");
}

TEST(PythonProbes, WhenPyTorchCannotBeImportedTheRestIsSkipped) {
    const std::string failure =
        R"(python-import) echo '{"result": {"id": "python-import", "status": "failed", "reason": "ImportError: x"}}' >&3; exit 0 ;;)";
    const std::string death = "python-import) kill -ABRT $$ ;;";
    for (const std::string& import : {failure, death}) {
        const std::vector<ProbeResult> results = probe(FakePython(import));
        ASSERT_EQ(results.size(), 17U);
        EXPECT_NE(results[0].status, ProbeStatus::passed);
        EXPECT_EQ(results[1].status, ProbeStatus::skipped);
        EXPECT_EQ(results[1].reason, "PyTorch could not be imported");
    }
}

TEST(PythonProbes, ResultsBelongToTheGpuThatHipOrCudaNamed) {
    const FakePython python("none) ;;", "cuda:0");
    ProbeOptions options;
    options.python = python.path();
    options.level = ProbeLevel::all;
    const Facts facts;
    ProbeSession session(facts, options);
    ProbeResult listed;
    listed.id = "hip-init";
    listed.device = "0000:03:00.0";
    listed.values["ordinal"] = "hip:0";
    session.add(listed);
    run_python_probes(session);
    const ProbeResult add = result_of(session.results(), "python-add");
    EXPECT_EQ(add.device, "0000:03:00.0");
    EXPECT_EQ(add.values.at("ordinal"), "cuda:0");
    EXPECT_EQ(add.values.at("together"), "together");
}

TEST(PythonProbes, AnOverriddenRdna1GpuSkipsTheLargeConvolution) {
    const FakePython python("none) ;;", "cuda:0");
    ProbeOptions options;
    options.python = python.path();
    Facts facts;
    Gpu gpu;
    gpu.vendor = "amd";
    gpu.gfx = {"gfx1010", "kfd"};
    facts.gpus.push_back(gpu);
    EXPECT_EQ(result_of(probe(facts, options), "python-conv2d-64").status, ProbeStatus::passed);
    facts.environment.variables = {{{"HSA_OVERRIDE_GFX_VERSION", "10.3.0"}}, "this process"};
    EXPECT_EQ(result_of(probe(facts, options), "python-conv2d-64").reason,
              "convolutions of this size have hung RDNA1 GPUs with HSA_OVERRIDE_GFX_VERSION=10.3.0; --probe "
              "all tries it anyway");
    options.level = ProbeLevel::all;
    EXPECT_EQ(result_of(probe(facts, options), "python-conv2d-64").status, ProbeStatus::passed);
}

TEST(PythonProbes, InterpretersAreFilesFoldersOrNames) {
    const FakePython python("none) ;;");
    EXPECT_EQ(find_interpreter(python.path()), python.path());
    EXPECT_EQ(find_interpreter("/no/such/python3"), "");
    EXPECT_NE(find_interpreter("sh"), "");
    EXPECT_EQ(find_interpreter("no-such-python"), "");
    const test::TemporaryFolder environment;
    EXPECT_EQ(find_interpreter(environment.path().string()), "");
    fs::create_directory(environment / "bin");
    fs::copy(python.path(), environment / "bin/python3");
    EXPECT_EQ(find_interpreter(environment.path().string()), (environment / "bin/python3").string());
    ProbeOptions absent;
    absent.python = "/no/such/python3";
    EXPECT_EQ(probe({}, absent).at(0).reason, "there is no Python /no/such/python3");
}

} // namespace
} // namespace rekindle::doctor
