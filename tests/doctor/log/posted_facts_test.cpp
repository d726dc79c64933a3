#include "knowledge/safe_yaml.h"
#include "log/posted_entries.h"
#include "log/posted_values.h"

#include <rekindle/doctor/diagnosis.h>
#include <rekindle/doctor/facts_json.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <random>
#include <unistd.h>

namespace rekindle::doctor {
namespace {

class PostedFacts : public testing::Test {
  protected:
    PostedFacts()
        : path_(std::filesystem::temp_directory_path() / ("rekindle-posted-" + std::to_string(::getpid()))) {}
    ~PostedFacts() override { std::filesystem::remove(path_); }
    Facts read(std::string_view text) const {
        write_file_atomically(path_, text);
        return read_posted_facts(path_, embedded_knowledge());
    }
    std::string refused(std::string_view text) const {
        try {
            read(text);
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), ExitStatus::usage);
            return error.where().substr(std::min(error.where().size(), path_.string().size())) + " " +
                   error.message();
        }
        return "accepted";
    }
    std::filesystem::path path_;
};

TEST_F(PostedFacts, BareLinesAsPeopleWriteThem) {
    const Facts facts = read("# my machine\n"
                             "GPU: RX 7900 XT: two of them\n"
                             "os = Ubuntu 24.04.1 LTS\n"
                             "kernel: 6.8.0-45-generic\n"
                             "torch: 2.5.1+rocm6.2\n"
                             "python: 3.12 venv\n"
                             "container: no\n"
                             "mainboard: ASRock B550\n");
    ASSERT_EQ(facts.gpus.size(), 1U);
    EXPECT_EQ(facts.gpus[0].vendor, "amd");
    EXPECT_TRUE(facts.system.os_id.is("ubuntu"));
    EXPECT_TRUE(facts.system.os_version.is("24.04.1"));
    EXPECT_TRUE(facts.system.kernel.is("6.8.0-45-generic"));
    EXPECT_TRUE(facts.system.wsl.is(0));
    EXPECT_TRUE(facts.system.container.is("none"));
    ASSERT_EQ(facts.pythons.size(), 1U);
    EXPECT_TRUE(facts.pythons[0].torch.is("2.5.1+rocm6.2"));
    EXPECT_TRUE(facts.pythons[0].torch_kind.is("rocm"));
    EXPECT_TRUE(facts.pythons[0].version.is("3.12"));
    EXPECT_EQ(facts.notes.back(), "mainboard: ASRock B550");
    EXPECT_EQ(facts.origin, "a posted case");
}

TEST_F(PostedFacts, OnlyTheEnvironmentOfACaseIsRead) {
    const std::string environment = "environment:\n  gfx: gfx1010\n  torch: 2.5.1+rocm6.2\n";
    const Facts with_answer = read(
        "id: x\nlog: gfx1100\ncause: {slug: pcie-atomics}\nfix_confirmed: \"gpu: RX 580\"\n" + environment);
    EXPECT_EQ(to_json(with_answer), to_json(read(environment)));
    const Facts none = read("id: x\nlog: gfx1100\ncause: {slug: pcie-atomics}\n");
    EXPECT_TRUE(none.gpus.empty());
    EXPECT_TRUE(none.notes.empty());
}

TEST_F(PostedFacts, ARecordedHost) {
    const Facts facts = read(
        R"({"schema": 1, "system": {"kernel": "6.8"}, "gpus": [{"address": "0000:03:00.0", "vendor": "amd", "gfx": "gfx1100"}]})");
    EXPECT_TRUE(facts.system.kernel.is("6.8"));
    ASSERT_EQ(facts.gpus.size(), 1U);
    EXPECT_TRUE(read("{gpu: Radeon RX 5700 XT, gfx: gfx1010}").gpus.at(0).gfx.is("gfx1010"));
}

TEST_F(PostedFacts, MistakesNameTheirLine) {
    EXPECT_NE(refused("gpu: RX 580\nthis is not a fact\n").find(":2"), std::string::npos);
    EXPECT_NE(refused("environment: all of it\n").find(":1"), std::string::npos);
    EXPECT_NE(refused("").find("no facts"), std::string::npos);
    EXPECT_NE(refused("- a\n- b\n"), "accepted");
    EXPECT_NE(refused("a: &a [x]\nb: *a\n"), "accepted");
    EXPECT_NE(refused("{\"gpus\": 1}").find("gpus"), std::string::npos);
    EXPECT_NE(refused("environment:\n  gpu: " + std::string(200, '[') + "\n"), "accepted");
    EXPECT_THROW(read_posted_facts("/dev/zero", embedded_knowledge()), Error);
    EXPECT_THROW(read_posted_facts("/", embedded_knowledge()), Error);
    EXPECT_THROW(read_posted_facts("/nonexistent/facts", embedded_knowledge()), Error);
}

std::vector<Gpu> gpus(std::string_view gpu, std::string_view gfx) {
    Facts facts;
    read_posted_gpus(gpu, gfx, embedded_knowledge(), facts);
    return facts.gpus;
}

TEST(PostedGpus, SeveralGpusAndTheirTargets) {
    const auto two =
        gpus("Radeon RX 7900 XT + Ryzen 7 7800X3D iGPU", "gfx1100 (cuda:1) and gfx1036 (cuda:0)");
    ASSERT_EQ(two.size(), 2U);
    EXPECT_TRUE(two[0].gfx.is("gfx1036")) << "the order of the runtime";
    EXPECT_TRUE(two[0].integrated.is(true));
    EXPECT_TRUE(two[1].gfx.is("gfx1100"));
    EXPECT_TRUE(two[1].name.is("Radeon RX 7900 XT"));
    EXPECT_EQ(two[1].address, "case:1");
    EXPECT_EQ(gpus("4x GeForce RTX 2080", "").size(), 4U);
    EXPECT_EQ(gpus("two RX 7900 XTX", "gfx1100").size(), 2U);
    EXPECT_TRUE(gpus("two RX 7900 XTX", "gfx1100")[1].gfx.is("gfx1100"));
    EXPECT_EQ(gpus("Ryzen AI MAX+ 395 / Radeon 8060S, 128 GB unified", "gfx1151").size(), 1U);
    EXPECT_EQ(gpus("Radeon RX 6700 XT, RX 580 and an iGPU", "").size(), 3U);
    EXPECT_EQ(gpus("not stated", "not in what was read").size(), 0U);
}

TEST(PostedGpus, TheTargetThatARuntimePrintsMayBeOverridden) {
    const auto printed = gpus("AMD Instinct MI210", "gfx1030 as printed by rocminfo");
    ASSERT_EQ(printed.size(), 1U);
    EXPECT_FALSE(printed[0].gfx);
    EXPECT_TRUE(printed[0].runtime_gfx.is("gfx1030"));
    const auto contradicted = gpus("Radeon RX 5700 XT", "gfx1030");
    EXPECT_FALSE(contradicted[0].gfx);
    EXPECT_TRUE(contradicted[0].runtime_gfx.is("gfx1030"));
    EXPECT_TRUE(gpus("Radeon RX 5700 XT", "gfx1010")[0].gfx.is("gfx1010"));
    EXPECT_TRUE(gpus("", "gfx908")[0].gfx.is("gfx908"));
    const auto nvidia = gpus("GeForce GTX 1080 Ti", "sm_61");
    EXPECT_TRUE(nvidia[0].compute_capability.is("6.1"));
    EXPECT_EQ(nvidia[0].vendor, "nvidia");
    EXPECT_TRUE(gpus("Polaris cards (1002:67df), mixed with other GPUs", "")[0].pci_id.is("1002:67df"));
}

TEST(PostedValues, TheFailingVersionCounts) {
    const auto torch = [](std::string_view text) {
        PythonEnvironment python;
        read_posted_torch(text, python);
        return python.torch.value_or("-") + " " + python.torch_kind.value_or("-") + " " +
               python.torch_hip.value_or("-");
    };
    EXPECT_EQ(torch("2.0.1+rocm5.4.2 fails; 1.13.1+rocm5.2 was in use before"), "2.0.1+rocm5.4.2 rocm -");
    EXPECT_EQ(torch("1.13.1+rocm5.2 works; 2.0.1+rocm5.4.2 fails"), "2.0.1+rocm5.4.2 rocm -");
    EXPECT_EQ(torch("2.4.1 works, 2.5.1 fails"), "2.5.1 - -");
    EXPECT_EQ(
        torch(
            "2.6.0.dev20241014+rocm6.2 and 2.6.0.dev20241015+rocm6.2 fail; 2.6.0.dev20241013+rocm6.2 works"),
        "2.6.0.dev20241014+rocm6.2 rocm -");
    EXPECT_EQ(torch("2.1.0 fails with pytorch-sparse 0.6.18; 2.0.1 works with 0.6.17"), "2.1.0 - -");
    EXPECT_EQ(torch("a pytorch.org wheel for ROCm 6.2 (exact string not in what was read)"), "- rocm 6.2");
    EXPECT_EQ(torch("2.5 (ROCm 6.2)"), "2.5 rocm 6.2");
    EXPECT_EQ(torch("2.6.0+cu124"), "2.6.0+cu124 cuda -");
    EXPECT_EQ(torch("2.11.0a0 nightly, CUDA 12.8"), "2.11.0a0 cuda -");
    EXPECT_EQ(torch("unknown"), "- - -");
}

TEST(PostedValues, VersionsOfRocmAndDrivers) {
    Facts facts;
    PythonEnvironment python;
    read_posted_rocm("6.2 (wheel)", facts, python);
    EXPECT_TRUE(python.torch_hip.is("6.2"));
    EXPECT_TRUE(facts.rocm.installations.empty());
    read_posted_rocm("5.7.1", facts, python);
    ASSERT_EQ(facts.rocm.installations.size(), 1U);
    EXPECT_TRUE(facts.rocm.installations[0].version.is("5.7.1"));
    Drivers drivers;
    read_posted_driver("user space 550.107.02, loaded kernel module 550.90.07", drivers);
    EXPECT_TRUE(drivers.nvidia_library.is("550.107.02"));
    EXPECT_TRUE(drivers.nvidia_module.is("550.90.07"));
    Drivers one;
    read_posted_driver("NVIDIA 470.57.02 (CUDA 11.4)", one);
    EXPECT_TRUE(one.nvidia_module.is("470.57.02"));
    EXPECT_TRUE(one.nvidia_cuda.is("11.4"));
}

TEST(PostedValues, SystemsAndContainers) {
    System wsl;
    read_posted_os("WSL2 Ubuntu 20.04 on Windows 10.0.21292", wsl);
    EXPECT_TRUE(wsl.wsl.is(2));
    EXPECT_TRUE(wsl.os_id.is("ubuntu"));
    EXPECT_TRUE(wsl.os_version.is("20.04"));
    System windows;
    read_posted_os("Windows 11 build 26200", windows);
    EXPECT_TRUE(windows.os_id.is("windows"));
    EXPECT_FALSE(windows.wsl);
    const auto container = [](std::string_view text) {
        System system;
        read_posted_container(text, system);
        return system.container.value_or("-") + (system.rootless.is(true) ? " rootless" : "");
    };
    EXPECT_EQ(container("docker nvidia/cuda:10.1-devel-ubuntu18.04"), "docker");
    EXPECT_EQ(container("Singularity (--writable-tmpfs, home bound)"), "singularity");
    EXPECT_EQ(container("rootless Podman 5"), "podman rootless");
    EXPECT_EQ(container("CI container"), "other");
    EXPECT_EQ(container("none"), "none");
    EXPECT_EQ(container("not stated"), "-");
}

TEST(PostedValues, Variables) {
    const auto variables = [](std::string_view text) {
        ProcessEnvironment environment;
        read_posted_environment(text, environment);
        std::string all;
        if (environment.variables)
            for (const auto& [name, value] : *environment.variables)
                all += name + "=" + value + ";";
        return all;
    };
    EXPECT_EQ(variables("HIP_VISIBLE_DEVICES=0 ROCR_VISIBLE_DEVICES=0"),
              "HIP_VISIBLE_DEVICES=0;ROCR_VISIBLE_DEVICES=0;");
    EXPECT_EQ(variables("HSA_OVERRIDE_GFX_VERSION set to the gfx1030 value"),
              "HSA_OVERRIDE_GFX_VERSION=10.3.0;");
    EXPECT_EQ(variables("HSA_OVERRIDE_GFX_VERSION (11.0.0), TORCH_BLAS_PREFER_HIPBLASLT: 0"),
              "HSA_OVERRIDE_GFX_VERSION=11.0.0;TORCH_BLAS_PREFER_HIPBLASLT=0;");
    EXPECT_EQ(variables("HSA_OVERRIDE_GFX_VERSION is set"), "HSA_OVERRIDE_GFX_VERSION=(set);");
    EXPECT_EQ(variables("export LD_LIBRARY_PATH=\"/opt/rocm/lib:/x y\""),
              "LD_LIBRARY_PATH=/opt/rocm/lib:/x y;");
    EXPECT_EQ(variables("nothing special"), "");
}

TEST_F(PostedFacts, DamagedTextIsReadOrRefused) {
    const std::string good =
        "environment:\n  gpu: \"Radeon RX 7900 XT + iGPU\"\n  gfx: gfx1100 (cuda:1) and gfx1036 (cuda:0)\n"
        "  torch: \"2.0.1+rocm5.4.2 fails; 1.13.1 works\"\n  env: HSA_OVERRIDE_GFX_VERSION set to the "
        "gfx1030 value\n"
        "  driver: user space 550.107.02, loaded kernel module 550.90.07\n  os: WSL2 Ubuntu 20.04\n";
    std::mt19937 random(11);
    int accepted = 0;
    for (int round = 0; round < 2000; ++round) {
        std::string text = good.substr(0, random() % (good.size() + 1));
        for (auto change = random() % 6; change > 0 && !text.empty(); --change)
            text[random() % text.size()] = static_cast<char>(random() % 256);
        try {
            Facts facts;
            for (const PostedEntry& entry : posted_entries(text, "fuzz"))
                if (entry.key == "gpu")
                    read_posted_gpus(entry.value, entry.value, embedded_knowledge(), facts);
            ++accepted;
        } catch (const Error& error) {
            ASSERT_EQ(error.status(), ExitStatus::usage);
        }
    }
    EXPECT_GT(accepted, 100);
    EXPECT_LT(accepted, 2000);
}

} // namespace
} // namespace rekindle::doctor
