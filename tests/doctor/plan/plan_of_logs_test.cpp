/// Plans for what a log alone shows, PowerShell, and training through Vulkan.

#include "host_matrix.h"
#include "plan/shell.h"

#include <rekindle/doctor/report.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <re2/re2.h>

namespace rekindle::doctor {
namespace {

using fixtures::MatrixHost;

Report report_of(std::string_view text) {
    const LogText log = log_from_text(text, "posted");
    return make_report({}, {}, &log, embedded_knowledge());
}

std::string plan_text(const Report& report) {
    std::string text;
    for (const Step& step : report.plan.steps)
        text +=
            fmt::format("{}: {}\n{}\n{}\n", step.id, fmt::join(step.commands, "\n"), step.verify, step.where);
    return text;
}

/// The commands of a remedy on a host with an RX 7900 XT and these packages beside torch.
std::string commands_with(std::vector<std::string> packages, const std::string& remedy) {
    Facts facts;
    facts.origin = "this host";
    facts.system.container = {"none", "constructed"};
    facts.system.wsl = {0, "constructed"};
    Gpu& gpu = facts.gpus.emplace_back();
    gpu.address = "0000:03:00.0";
    gpu.vendor = "amd";
    gpu.gfx = {"gfx1100", "constructed"};
    PythonEnvironment& python = facts.pythons.emplace_back();
    python.active = true;
    python.path = "/srv/venv";
    python.version = {"3.12", "constructed"};
    for (std::string& name : packages)
        python.packages.emplace_back().name = std::move(name);
    Finding finding;
    finding.cause = embedded_knowledge().causes.front().slug;
    finding.remedies = {remedy};
    const Plan plan = make_plan(facts, {finding}, embedded_knowledge());
    return plan.steps.empty() ? "" : fmt::format("{}", fmt::join(plan.steps.front().commands, "\n"));
}

/// `torchvision==0.24.1` in a command → "0.24.1".
std::string version_in(const std::string& commands, const std::string& package) {
    std::string version;
    RE2::PartialMatch(commands, "\"" + package + "==([\\d.]+)\"", &version);
    return version;
}

TEST(PlanOfWheels, CompanionsOfTheEnvironmentAreInstalledInVersionsThatGoTogether) {
    for (const char* remedy : {"use-wheel-with-gfx", "upgrade-torch", "rebuild-environment"}) {
        const std::string all = commands_with({"torch", "torchaudio", "torchvision"}, remedy);
        const TorchRelease* release = embedded_knowledge().torch_release(version_in(all, "torch"));
        ASSERT_NE(release, nullptr) << all;
        EXPECT_EQ(version_in(all, "torchvision"), release->torchvision.front()) << all;
        EXPECT_EQ(version_in(all, "torchaudio"), release->torchaudio.front()) << all;
        const std::string torch = commands_with({"torch"}, remedy);
        EXPECT_NE(version_in(torch, "torch"), "");
        EXPECT_EQ(torch.find("torchvision"), std::string::npos) << torch;
        EXPECT_EQ(torch.find("torchaudio"), std::string::npos) << torch;
    }
    const std::string native = commands_with({"torch", "torchvision"}, "use-native-wheel");
    EXPECT_NE(native.find("\"torch[device-gfx1100]\" \"torchvision[device-gfx1100]\""), std::string::npos)
        << native;
}

/// Facts of a Windows host with this GPU, or with a GeForce if `gfx` is empty.
Facts windows_host(const std::string& gfx) {
    Facts facts;
    facts.origin = "a posted case";
    facts.system.os_id = {"windows", "constructed"};
    facts.system.user_name = {"someone", "constructed"};
    Gpu& gpu = facts.gpus.emplace_back();
    gpu.address = "0000:03:00.0";
    gpu.vendor = gfx.empty() ? "nvidia" : "amd";
    if (gfx.empty())
        gpu.compute_capability = {"8.6", "constructed"};
    else
        gpu.gfx = {gfx, "constructed"};
    facts.pythons.emplace_back().packages.emplace_back().name = "torchvision";
    return facts;
}

std::vector<Step> steps_on_windows(const std::string& gfx, const std::string& remedy) {
    Finding finding;
    finding.cause = embedded_knowledge().causes.front().slug;
    finding.remedies = {remedy};
    return make_plan(windows_host(gfx), {finding}, embedded_knowledge()).steps;
}

TEST(PlanOnWindows, AmdsWheelsComeFromTheIndexForWindows) {
    const WheelIndex& index = *embedded_knowledge().index("therock");
    for (const char* remedy :
         {"use-native-wheel", "install-rocm-torch", "install-cuda-torch", "upgrade-torch",
          "choose-existing-wheel", "rebuild-environment", "update-rocm"}) {
        const std::vector<Step> steps = steps_on_windows("gfx1100", remedy);
        ASSERT_EQ(steps.size(), 1U) << remedy;
        const Step& step = steps.front();
        EXPECT_EQ(step.id, "use-native-wheel-on-windows") << remedy;
        EXPECT_EQ(step.commands.back(),
                  "& \"$HOME/rekindle-env/use-native-wheel-on-windows/Scripts/pip\" install --index-url " +
                      index.url + " \"torch[device-gfx1100]\" \"torchvision[device-gfx1100]\"");
        EXPECT_NE(step.verify.find("Scripts/python"), std::string::npos) << step.verify;
        EXPECT_EQ(step.expect, "64.0");
        for (const std::string& said :
             {index.url, index.checked, std::string("AMD lists gfx1100 on Windows as tested"),
              std::string("have not run these wheels on Windows")})
            EXPECT_NE(step.changes.find(said), std::string::npos) << said << "\n" << step.changes;
    }
}

TEST(PlanOnWindows, TargetsThatAmdDoesNotTestOrBuildThereAreNotPassedOffAsTested) {
    const std::vector<Step> untested = steps_on_windows("gfx1201", "use-native-wheel");
    ASSERT_EQ(untested.size(), 1U);
    EXPECT_NE(untested.front().changes.find("without testing them"), std::string::npos)
        << untested.front().changes;
    EXPECT_TRUE(steps_on_windows("gfx942", "use-native-wheel").empty()) << "there are only wheels for Linux";
    EXPECT_TRUE(steps_on_windows("gfx803", "use-native-wheel").empty()) << "no index has wheels";
    const std::vector<Step> nvidia = steps_on_windows("", "upgrade-torch");
    ASSERT_EQ(nvidia.size(), 1U);
    EXPECT_EQ(nvidia.front().id, "install-cuda-torch");
}

TEST(PlanOnWindows, ACpuOnlyTorchBesideARadeonLeadsToAmdsWheels) {
    const LogText log = log_from_text("AssertionError: Torch not compiled with CUDA enabled\n", "posted");
    Facts facts = windows_host("gfx1100");
    facts.pythons.front().torch = {"2.6.0+cpu", "constructed"};
    facts.pythons.front().torch_kind = {"cpu", "constructed"};
    const std::string commands = plan_text(make_report(facts, {}, &log, embedded_knowledge()));
    EXPECT_NE(commands.find("\"torch[device-gfx1100]\""), std::string::npos) << commands;
    EXPECT_EQ(commands.find("whl/cu"), std::string::npos) << commands;
}

TEST(PlanOfALog, ACpuOnlyTorchBesideACardWithoutOfficialWheelsLeadsToAmdsWheels) {
    Facts facts = windows_host("gfx1010");
    facts.system.os_id = {"ubuntu", "constructed"};
    facts.system.user_name = {};
    facts.pythons.front().torch_kind = {"cpu", "constructed"};
    const LogText log = log_from_text("AssertionError: Torch not compiled with CUDA enabled\n", "posted");
    const std::string commands = plan_text(make_report(facts, {}, &log, embedded_knowledge()));
    EXPECT_NE(commands.find("use-native-wheel:"), std::string::npos) << commands;
    EXPECT_NE(commands.find("\"torch[device-gfx1010]\""), std::string::npos) << commands;
}

TEST(PlanOfALog, AnNvidiaGpuGetsNothingForAmd) {
    const std::string commands = plan_text(report_of(
        "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch "
        "installation.\n"
        "The current PyTorch install supports CUDA capabilities sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90.\n"
        "  File \"/srv/venv/lib/python3.12/site-packages/bitsandbytes/functional.py\", line 12\n"
        "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"));
    EXPECT_NE(commands.find("use-newer-cuda-wheel"), std::string::npos) << commands;
    for (const char* foreign : {"ROCM", "HIP", "HSA", "gfx", "whl/rocm"})
        EXPECT_EQ(commands.find(foreign), std::string::npos) << commands;
}

TEST(PlanOfALog, WindowsGetsNoBash) {
    const std::string commands = plan_text(
        report_of("C:\\AI\\venv\\Lib\\site-packages\\torch\\cuda\\__init__.py:235: UserWarning:\n"
                  "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current "
                  "PyTorch installation.\n"
                  "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"));
    EXPECT_NE(commands.find("Scripts/pip"), std::string::npos) << commands;
    for (const char* unix : {"export ", "unset ", "/bin/", "sudo", "printenv"})
        EXPECT_EQ(commands.find(unix), std::string::npos) << commands;
}

TEST(PlanOfALog, WslGetsTheWindowsDriver) {
    const std::string commands =
        plan_text(report_of("Linux pc 5.15.146.1-microsoft-standard-WSL2 #1 SMP x86_64 GNU/Linux\n"
                            "NVIDIA GeForce RTX 3060\n"
                            "UserWarning: CUDA initialization: The NVIDIA driver on your system is too old "
                            "(found version 11040).\n"));
    EXPECT_NE(commands.find("nvidia-driver-in-windows"), std::string::npos) << commands;
    for (const char* native : {"ubuntu-drivers", "apt install nvidia", "systemctl"})
        EXPECT_EQ(commands.find(native), std::string::npos) << commands;
}

TEST(PowerShell, SetsVariablesAndKeepsPrograms) {
    EXPECT_EQ(in_powershell("export A_B=0").value_or(""), "$env:A_B = \"0\"");
    EXPECT_EQ(in_powershell("unset A B").value_or(""),
              "Remove-Item Env:A, Env:B -ErrorAction SilentlyContinue");
    EXPECT_EQ(in_powershell("printenv A").value_or(""), "$env:A");
    EXPECT_EQ(in_powershell("$HOME/rekindle-env/x/bin/pip install torch").value_or(""),
              "& \"$HOME/rekindle-env/x/Scripts/pip\" install torch");
    EXPECT_EQ(in_powershell("A=1 python3 train.py").value_or(""),
              "$env:A = \"1\"; python train.py; Remove-Item Env:A -ErrorAction SilentlyContinue");
    for (const char* of_unix : {"sudo modprobe amdgpu", "grep -H . /sys/x", "ulimit -n 4096",
                                "export A=$(ls)", "python3 -c 'x' 2>/dev/null", "ls /usr/share"})
        EXPECT_FALSE(in_powershell(of_unix)) << of_unix;
}

/// A GPU that no wheel supports, with and without a Vulkan driver.
Report card_without_rocm(bool driver) {
    Facts facts;
    facts.origin = "this host";
    facts.system.os_id = {"debian", "constructed"};
    facts.system.wsl = {0, "constructed"};
    facts.system.container = {"none", "constructed"};
    Gpu gpu;
    gpu.address = "0000:03:00.0";
    gpu.vendor = "amd";
    gpu.name = {"AMD Radeon RX 5700 XT", "constructed"};
    gpu.kernel_driver = {"amdgpu", "constructed"};
    gpu.kfd_node = {1, "constructed"};
    facts.gpus.push_back(gpu);
    PythonEnvironment& python = facts.pythons.emplace_back();
    python.torch = {"2.5.1+rocm6.2", "constructed"};
    python.torch_kind = {"rocm", "constructed"};
    facts.vulkan.loader = {"/usr/lib/libvulkan.so.1", "constructed"};
    if (driver) {
        facts.vulkan.drivers.emplace_back().manifest = "/usr/share/vulkan/icd.d/radeon_icd.json";
        facts.vulkan.drivers.back().library_exists = {true, "constructed"};
    }
    return make_report(facts, {}, nullptr, embedded_knowledge());
}

TEST(VulkanRoute, IsNamedWithDeviceAndCommand) {
    const Report report = card_without_rocm(true);
    const auto step = std::find_if(report.plan.steps.begin(), report.plan.steps.end(),
                                   [](const Step& one) { return one.id == "use-vulkan-route"; });
    ASSERT_NE(step, report.plan.steps.end()) << plan_text(report);
    EXPECT_NE(step->title.find("torch.device(\"rvk\")"), std::string::npos);
    EXPECT_NE(fmt::format("{}", fmt::join(step->commands, "\n")).find("--device gpu"), std::string::npos);
    EXPECT_FALSE(step->root) << "nothing is installed";
}

TEST(VulkanRoute, BeginsWithInstallingAMissingDriver) {
    const Report report = card_without_rocm(false);
    const std::string commands = plan_text(report);
    EXPECT_EQ(commands.find("use-vulkan-route"), std::string::npos);
    EXPECT_NE(commands.find("sudo apt install mesa-vulkan-drivers"), std::string::npos) << commands;
}

std::string words_of(const Plan& plan) {
    std::string text;
    for (const Step& step : plan.steps)
        text += fmt::format("{}\n{}\n", step.title, fmt::join(step.commands, "\n"));
    return text + fmt::format("{}\n", fmt::join(plan.remarks, "\n"));
}

/// Whether Vulkan can train on a GPU on which neither ROCm nor CUDA can.
bool only_vulkan_trains(const MatrixHost& host) {
    const auto yes = [](const std::string& status) { return status.starts_with("yes"); };
    const std::vector<DeviceStatus> devices = device_table(host.facts, {}, embedded_knowledge());
    return std::any_of(devices.begin(), devices.end(), [&](const DeviceStatus& device) {
        return yes(device.vulkan) && !yes(device.rocm) && !yes(device.cuda);
    });
}

TEST(VulkanRoute, IsNamedOnEveryHostThatHasIt) {
    std::size_t named = 0;
    for (const MatrixHost& host : fixtures::sampled_host_matrix()) {
        if (!host.vulkan)
            continue;
        const bool native = host.system == "linux" || host.system.empty();
        const bool only_vulkan = native && only_vulkan_trains(host);
        for (const Cause& cause : embedded_knowledge().causes) {
            Finding finding;
            finding.cause = cause.slug;
            const Plan plan = make_plan(host.facts, {finding}, embedded_knowledge());
            if (plan.steps.empty())
                continue;
            const std::string text = words_of(plan);
            const bool device = text.find("torch.device(\"rvk\")") != std::string::npos;
            const bool command = text.find("rekindle train --device gpu") != std::string::npos;
            if (only_vulkan) {
                ++named;
                EXPECT_TRUE(device && command) << cause.slug << " on " << host.name << '\n' << text;
            } else if (!native || !*host.vulkan) {
                EXPECT_FALSE(device || command) << cause.slug << " on " << host.name << '\n' << text;
            }
        }
    }
    EXPECT_GE(named, 1000U / fixtures::sampled);
}

} // namespace
} // namespace rekindle::doctor
