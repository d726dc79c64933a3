#include "probes/probe_child_program.h"
#include "probes/probe_session.h"

#include <rekindle/doctor/probe.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <temporary_folder.h>

namespace rekindle::doctor {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using test::ScopedVariable;

std::string fake_hip_folder() {
    return (test::folder_of_tests() / "fake_hip").string();
}

/// A host with two AMD GPUs at the addresses that the fake HIP reports.
Facts two_gpus() {
    Facts facts;
    facts.kfd = {true, "/sys/class/kfd/kfd"};
    for (const char* address : {"0000:03:00.0", "0000:04:00.0"}) {
        Gpu gpu;
        gpu.address = address;
        gpu.vendor = "amd";
        gpu.uuid = {std::string("GPU-") + address, "unique_id"};
        facts.gpus.push_back(gpu);
    }
    return facts;
}

ProbeOptions hip_options(ProbeLevel level = ProbeLevel::safe) {
    ProbeOptions options;
    options.level = level;
    options.program = test::probe_child();
    options.library_folder = fake_hip_folder();
    return options;
}

std::vector<ProbeResult> results_of(const std::string& id, const std::vector<ProbeResult>& results) {
    std::vector<ProbeResult> found;
    std::ranges::copy_if(results, std::back_inserter(found),
                         [&](const ProbeResult& result) { return result.id == id; });
    return found;
}

/// All results while the fake HIP behaves as `words` says.
std::vector<ProbeResult> with_behavior(const std::string& words, const ProbeOptions& with = hip_options()) {
    const ScopedVariable behavior("REKINDLE_FAKE_DRIVER", words);
    return run_probes(two_gpus(), with);
}

/// One probe alone, on the first GPU: a whole run would only add other children.
ProbeResult one(const std::string& id, const std::string& words) {
    const ScopedVariable behavior("REKINDLE_FAKE_DRIVER", words);
    const Facts facts;
    const ProbeOptions with = hip_options();
    ProbeSession session(facts, with);
    ProbeTask task{.id = id, .parameters = {"folder=" + fake_hip_folder(), "gpus=2"}};
    session.run({task});
    return session.results().at(0);
}

TEST(HipProbes, AWorkingHipPassesAllProbes) {
    const std::vector<ProbeResult> results = with_behavior("", hip_options(ProbeLevel::all));
    const std::vector<ProbeResult> init = results_of("hip-init", results);
    ASSERT_EQ(init.size(), 3U) << init.front().reason;
    EXPECT_EQ(init[0].values.at("library"), fake_hip_folder() + "/libamdhip64.so.6");
    EXPECT_EQ(init[0].values.at("runtime_version"), "60241133");
    EXPECT_EQ(init[0].values.at("devices"), "2");
    EXPECT_EQ(init[1].device, "0000:03:00.0");
    EXPECT_EQ(init[2].device, "0000:04:00.0");
    EXPECT_EQ(init[2].values.at("ordinal"), "hip:1");
    EXPECT_EQ(init[2].values.at("gfx"), "gfx1100");
    EXPECT_EQ(init[2].values.at("memory_total"), "21474836480");
    for (const char* id : {"blas-handle", "hiprtc-vector-add"}) {
        const std::vector<ProbeResult> devices = results_of(id, results);
        ASSERT_EQ(devices.size(), 2U) << id;
        EXPECT_EQ(devices[1].device, "0000:04:00.0") << id;
        EXPECT_EQ(devices[1].status, ProbeStatus::passed) << id << devices[1].reason << devices[1].code;
        EXPECT_EQ(devices[1].values.at("memory_free"), "10737418240") << id;
    }
    EXPECT_EQ(results_of("blas-handle", results)[0].values.at("library"),
              fake_hip_folder() + "/libhipblas.so.2");
    EXPECT_EQ(results_of("rccl", results).at(0).values.at("version"), "22005");
    EXPECT_EQ(results_of("rccl-two-gpus", results).at(0).status, ProbeStatus::passed);
    EXPECT_EQ(results_of("rccl-two-gpus", results).at(0).values.at("devices"), "2");
}

TEST(HipProbes, SafeSkipsTwoGpusTogether) {
    const std::vector<ProbeResult> results = with_behavior("ncclCommInitAll=hang");
    EXPECT_EQ(results_of("rccl", results).at(0).status, ProbeStatus::passed);
    EXPECT_EQ(results_of("rccl-two-gpus", results).at(0).status, ProbeStatus::skipped);
    EXPECT_EQ(results_of("rccl-two-gpus", results).at(0).reason,
              "only --probe all tries two GPUs together, because it may hang");
    const ScopedVariable one("REKINDLE_FAKE_DEVICES", "1");
    EXPECT_EQ(results_of("rccl-two-gpus", with_behavior("")).at(0).reason,
              "it needs two GPUs, and HIP has one here");
}

TEST(HipProbes, EveryHipStatusIsNamed) {
    for (const auto& [status, name] : std::vector<std::pair<int, std::string>>{
             {1, "hipErrorInvalidValue"},
             {2, "hipErrorOutOfMemory"},
             {3, "hipErrorNotInitialized"},
             {98, "hipErrorInvalidDeviceFunction"},
             {100, "hipErrorNoDevice"},
             {101, "hipErrorInvalidDevice"},
             {209, "hipErrorNoBinaryForGpu"},
             {700, "hipErrorIllegalAddress"},
             {719, "hipErrorLaunchFailure"},
             {999, "hipErrorUnknown"},
         }) {
        const ProbeResult init = one("hip-init", fmt::format("hipInit={}", status));
        EXPECT_EQ(init.status, ProbeStatus::failed);
        EXPECT_EQ(init.code, fmt::format("{} ({})", name, status));
        EXPECT_EQ(init.reason, "hipInit failed");
    }
    const std::vector<ProbeResult> results = with_behavior("hipGetDeviceCount=101");
    EXPECT_EQ(results_of("hip-init", results).at(0).reason, "hipGetDeviceCount failed");
    EXPECT_EQ(results_of("blas-handle", results).at(0).status, ProbeStatus::skipped);
    EXPECT_EQ(results_of("blas-handle", results).at(0).reason, "hip-init found no device to try it on");
}

TEST(HipProbes, WithoutAnAmdGpuAHipStatusIsNotAFailure) {
    const ScopedVariable behavior("REKINDLE_FAKE_DRIVER", "hipInit=101"); // HIP 5 on a host without amdgpu
    const ProbeResult init = results_of("hip-init", run_probes({}, hip_options())).at(0);
    EXPECT_EQ(init.status, ProbeStatus::skipped);
    EXPECT_EQ(init.reason, "no AMD GPU on this host");
    EXPECT_EQ(init.code, "hipErrorInvalidDevice (101)");
}

TEST(HipProbes, EveryBlasStatusIsNamed) {
    const std::array<std::string, 13> statuses{
        "",
        "HIPBLAS_STATUS_NOT_INITIALIZED (1)",
        "HIPBLAS_STATUS_ALLOC_FAILED (2)",
        "HIPBLAS_STATUS_INVALID_VALUE (3)",
        "HIPBLAS_STATUS_MAPPING_ERROR (4)",
        "HIPBLAS_STATUS_EXECUTION_FAILED (5)",
        "HIPBLAS_STATUS_INTERNAL_ERROR (6)",
        "HIPBLAS_STATUS_NOT_SUPPORTED (7)",
        "HIPBLAS_STATUS_ARCH_MISMATCH (8)",
        "HIPBLAS_STATUS_HANDLE_IS_NULLPTR (9)",
        "HIPBLAS_STATUS_INVALID_ENUM (10)",
        "HIPBLAS_STATUS_UNKNOWN (11)",
        "status 12",
    };
    for (std::size_t status = 1; status < statuses.size(); ++status) {
        const ProbeResult handle = one("blas-handle", fmt::format("hipblasCreate={}", status));
        EXPECT_EQ(handle.status, ProbeStatus::failed);
        EXPECT_EQ(handle.code, statuses.at(status));
        EXPECT_EQ(handle.device, "hip:0") << "its address is unknown";
    }
}

TEST(HipProbes, RocblasIsUsedWithoutHipblas) {
    const test::TemporaryFolder folder;
    for (const char* name : {"libamdhip64.so.6", "librocblas.so.4"})
        fs::create_symlink(fs::path(fake_hip_folder()) / name, folder.path() / name);
    ProbeOptions with = hip_options();
    with.library_folder = folder.path().string();
    const ProbeResult good = results_of("blas-handle", with_behavior("", with)).at(0);
    if (good.values.contains("library") && good.values.at("library").find("hipblas") != std::string::npos)
        GTEST_SKIP() << "skipped: the linker of this machine finds an installed hipBLAS:  "
                     << good.values.at("library");
    EXPECT_EQ(good.status, ProbeStatus::passed) << good.reason;
    EXPECT_EQ(good.values.at("library"), (folder.path() / "librocblas.so.4").string());
    const ProbeResult bad = results_of("blas-handle", with_behavior("rocblas_create_handle=5", with)).at(0);
    EXPECT_EQ(bad.code, "rocblas_status_memory_error (5)");
    EXPECT_EQ(bad.reason, "rocblas_create_handle failed");
}

TEST(HipProbes, AHangIsKilledAndItsCallNamed) {
    ProbeOptions with = hip_options();
    with.deadline = 1500ms;
    const std::vector<ProbeResult> handles =
        results_of("blas-handle", with_behavior("hipblasCreate=hang", with));
    ASSERT_EQ(handles.size(), 2U);
    EXPECT_EQ(handles[0].status, ProbeStatus::timed_out);
    EXPECT_EQ(handles[0].reason, "no response within 1.50 s, in hipblasCreate; killed");
    EXPECT_EQ(handles[0].signal, SIGKILL);
    EXPECT_EQ(handles[1].device, "0000:04:00.0");
}

TEST(HipProbes, CrashAbortExitAndFloodAreResults) {
    const ProbeResult crash = one("hiprtc-vector-add", "hipModuleLoadData=crash");
    EXPECT_EQ(crash.status, ProbeStatus::crashed);
    EXPECT_EQ(crash.signal, SIGSEGV);
    EXPECT_EQ(crash.reason, "terminated by SIGSEGV (11), in hipModuleLoadData");
    const ProbeResult abort = one("hip-init", "hipInit=abort");
    EXPECT_EQ(abort.reason, "terminated by SIGABRT (6), in hipInit");
    EXPECT_EQ(abort.errors, "Memory access fault by GPU node-1\n");
    const ProbeResult exit = one("rccl", "ncclGetVersion=exit");
    EXPECT_EQ(exit.status, ProbeStatus::crashed);
    EXPECT_EQ(exit.exit_status, 3);
    EXPECT_EQ(exit.reason, "the process ended without a result, exit status 3, in ncclGetVersion");
    ProbeOptions with = hip_options();
    with.deadline = 1s;
    const ProbeResult flood = results_of("hip-init", with_behavior("hipInit=flood", with)).at(0);
    EXPECT_EQ(flood.status, ProbeStatus::timed_out);
    EXPECT_EQ(flood.errors.size(), 4096U);
}

TEST(HipProbes, AWrongSumAndACompilerErrorAreFailures) {
    const ProbeResult wrong = one("hiprtc-vector-add", "hipModuleLaunchKernel=wrong");
    EXPECT_EQ(wrong.status, ProbeStatus::failed);
    EXPECT_EQ(wrong.reason,
              "the GPU's sum of two vectors is wrong: element 0 is -1, not 1; 1000 of 1000 are wrong");
    const ProbeResult refused = one("hiprtc-vector-add", "hiprtcCompileProgram=6");
    EXPECT_EQ(refused.code, "HIPRTC_ERROR_COMPILATION (6)");
    EXPECT_EQ(refused.values.at("compiler_log"), "vector_add.hip:1:1: error: made up");
    const ProbeResult no_code = one("hiprtc-vector-add", "hipModuleLoadData=209");
    EXPECT_EQ(no_code.code, "hipErrorNoBinaryForGpu (209)");
    EXPECT_EQ(no_code.reason, "hipModuleLoadData failed");
}

TEST(HipProbes, SafeSkipsAGpuThatHung) {
    const ScopedVariable behavior("REKINDLE_FAKE_DRIVER", "");
    Facts facts = two_gpus();
    facts.kernel_log.lines = {{"amdgpu 0000:04:00.0: amdgpu: GPU reset begin!"}, "/dev/kmsg"};
    const std::vector<ProbeResult> init = results_of("hip-init", run_probes(facts, hip_options()));
    ASSERT_FALSE(init.empty());
    EXPECT_EQ(init[0].device, "0000:04:00.0");
    EXPECT_EQ(init[0].status, ProbeStatus::skipped);
    EXPECT_TRUE(init[0].reason.starts_with("the kernel log shows a hang or reset of 0000:04:00.0"));
}

TEST(HipProbes, MissingHipIsSkippedAndBrokenHipFails) {
    const ScopedVariable none("REKINDLE_FAKE_DEVICES", "0");
    const std::vector<ProbeResult> no_gpu = run_probes({}, hip_options());
    EXPECT_EQ(results_of("hip-init", no_gpu).at(0).status, ProbeStatus::skipped);
    EXPECT_EQ(results_of("hip-init", no_gpu).at(0).reason, "no AMD GPU on this host");
    EXPECT_EQ(results_of("hip-init", no_gpu).at(0).code, "hipErrorNoDevice (100)");
    const test::TemporaryFolder folder;
    ProbeOptions with = hip_options();
    with.library_folder = folder.path().string();
    const ProbeResult absent = results_of("hip-init", run_probes(two_gpus(), with)).at(0);
    if (absent.values.contains("library"))
        GTEST_SKIP() << "skipped: the linker of this machine finds an installed HIP:  "
                     << absent.values.at("library");
    EXPECT_EQ(absent.status, ProbeStatus::skipped);
    EXPECT_EQ(absent.reason,
              fmt::format("no libamdhip64.so.7 or libamdhip64.so.6 or libamdhip64.so.5 or libamdhip64.so "
                          "in {}, and the linker does not find one",
                          folder.path().string()));
    std::ofstream(folder.path() / "libamdhip64.so.6") << "not a library";
    const ProbeResult broken = results_of("hip-init", run_probes(two_gpus(), with)).at(0);
    EXPECT_EQ(broken.status, ProbeStatus::failed);
    EXPECT_NE(broken.reason.find("libamdhip64.so.6: file too short"), std::string::npos) << broken.reason;
}

} // namespace
} // namespace rekindle::doctor
