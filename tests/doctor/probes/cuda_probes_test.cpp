#include "probes/probe_child_program.h"

#include <rekindle/doctor/probe.h>

#include <gtest/gtest.h>

#include <algorithm>

namespace rekindle::doctor {
namespace {

using test::ScopedVariable;

/// The results of the CUDA probes while the fake driver behaves as `words` says.
std::vector<ProbeResult> cuda_results(const std::string& words, const std::string& devices = "1",
                                      const Facts& facts = {}) {
    const ScopedVariable behavior("REKINDLE_FAKE_DRIVER", words);
    const ScopedVariable count("REKINDLE_FAKE_DEVICES", devices);
    const ScopedVariable folder("LD_LIBRARY_PATH", (test::folder_of_tests() / "fake_cuda").string());
    ProbeOptions options;
    options.program = test::probe_child();
    std::vector<ProbeResult> results = run_probes(facts, options);
    std::erase_if(results, [](const ProbeResult& result) { return !result.id.starts_with("cuda"); });
    return results;
}

TEST(CudaProbes, AWorkingDriverPasses) {
    const std::vector<ProbeResult> results = cuda_results("", "2");
    ASSERT_EQ(results.size(), 5U) << results.front().reason;
    EXPECT_EQ(results[0].id, "cuda-driver");
    EXPECT_EQ(results[0].values.at("driver_cuda"), "12.4");
    EXPECT_EQ(results[0].values.at("devices"), "2");
    EXPECT_EQ(results[2].device, "0000:1b:00.0") << "in sysfs's spelling";
    EXPECT_EQ(results[2].values.at("ordinal"), "cuda:1");
    EXPECT_EQ(results[2].values.at("compute_capability"), "8.6");
    EXPECT_EQ(results[2].values.at("name"), "A made-up GPU");
    EXPECT_EQ(results[4].id, "cuda-vector-add");
    EXPECT_EQ(results[4].device, "0000:1b:00.0");
    EXPECT_EQ(results[4].status, ProbeStatus::passed) << results[4].reason << results[4].code;
    EXPECT_EQ(results[4].values.at("memory_free"), "12884901888");
}

TEST(CudaProbes, GpusInTheFactsAreProbedByAddress) {
    Facts facts;
    for (const char* address : {"0000:1a:00.0", "0000:1b:00.0"}) {
        Gpu& gpu = facts.gpus.emplace_back();
        gpu.address = address;
        gpu.vendor = "nvidia";
        gpu.kernel_driver = {"nvidia", "test"};
    }
    std::vector<ProbeResult> results = cuda_results("", "2", facts);
    std::erase_if(results, [](const ProbeResult& result) { return result.id != "cuda-vector-add"; });
    ASSERT_EQ(results.size(), 2U);
    EXPECT_EQ(results[0].device, "0000:1a:00.0");
    EXPECT_EQ(results[1].device, "0000:1b:00.0");
    EXPECT_EQ(results[1].status, ProbeStatus::passed) << results[1].reason << results[1].code;
    EXPECT_EQ(results[1].values.at("memory_free"), "12884901888");
    const std::vector<ProbeResult> refused = cuda_results("cuDeviceGetByPCIBusId=101", "2", facts);
    EXPECT_EQ(refused.back().reason, "cuDeviceGetByPCIBusId failed");
}

TEST(CudaProbes, StatusesAWrongSumAndACrash) {
    const std::vector<ProbeResult> no_kernel = cuda_results("cuModuleLoadData=209");
    EXPECT_EQ(no_kernel.back().code, "CUDA_ERROR_NO_BINARY_FOR_GPU (209)");
    EXPECT_EQ(no_kernel.back().reason, "cuModuleLoadData failed");
    EXPECT_EQ(cuda_results("cuInit=999").front().code, "status 999")
        << "a status that the driver has no name for";
    EXPECT_EQ(cuda_results("cuLaunchKernel=wrong").back().reason,
              "the GPU's sum of two vectors is wrong: element 768 is -1, not 2305; 232 of 1000 are wrong");
    EXPECT_EQ(cuda_results("cuCtxSynchronize=crash").back().reason,
              "terminated by SIGSEGV (11), in cuCtxSynchronize");
}

TEST(CudaProbes, NoDeviceIsAFailureOnlyWhereThereIsAGpu) {
    const std::vector<ProbeResult> none = cuda_results("", "0");
    EXPECT_EQ(none.front().status, ProbeStatus::skipped);
    EXPECT_EQ(none.front().reason, "no NVIDIA GPU on this host");
    EXPECT_EQ(none.front().code, "CUDA_ERROR_NO_DEVICE (100)");
    EXPECT_EQ(none.back().reason, "cuda-driver found no device to try it on");
    Facts facts;
    Gpu gpu;
    gpu.vendor = "nvidia";
    facts.gpus.push_back(gpu);
    EXPECT_EQ(cuda_results("", "0", facts).front().status, ProbeStatus::failed);
}

} // namespace
} // namespace rekindle::doctor
