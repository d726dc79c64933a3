/// No plan contains a command of another platform: every remedy and every cause on every host of the
/// matrix. What a command belongs to is determined by its text alone, not by what the knowledge says about
/// it.

#include "host_matrix.h"

#include <rekindle/doctor/plan.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <re2/re2.h>
#include <set>

namespace rekindle::doctor {
namespace {

using fixtures::MatrixHost;

bool is_debian(const MatrixHost& host) {
    return host.package_manager == "apt" && host.system != "windows";
}
bool on_windows(const MatrixHost& host) {
    return host.system == "windows";
}
bool is_native(const MatrixHost& host) {
    return host.system == "linux" || host.system.empty();
}
bool in_container(const MatrixHost& host) {
    return !host.container.empty() && host.container != "none";
}

/// The hosts on which a command with this text may appear.
struct Belonging {
    Belonging(const char* named, const char* text, bool (*where)(const MatrixHost& host))
        : what(named), pattern(std::make_shared<RE2>(text)), fits(where) {}

    std::string what;
    std::shared_ptr<RE2> pattern;
    bool (*fits)(const MatrixHost& host);
};

const std::vector<Belonging>& belongings() {
    static const std::vector<Belonging> all{
        {"apt", R"(\bapt(-get)?\b|\bdpkg\b)", is_debian},
        {"ubuntu-drivers", R"(ubuntu-drivers)",
         [](const MatrixHost& host) { return host.ubuntu && host.system == "linux" && !in_container(host); }},
        {"dnf", R"(\bdnf\b)", [](const MatrixHost& host) { return host.package_manager == "dnf"; }},
        {"pacman", R"(\bpacman\b)", [](const MatrixHost& host) { return host.package_manager == "pacman"; }},
        {"zypper", R"(\bzypper\b)", [](const MatrixHost& host) { return host.package_manager == "zypper"; }},
        {"grub of Debian", R"(update-grub)",
         [](const MatrixHost& host) { return is_debian(host) && is_native(host) && !in_container(host); }},
        {"the packages of a kernel or a driver",
         R"(linux-(image|generic|firmware)|firmware-amd|amd-gpu-firmware|nvidia-driver|akmod|install kernel)",
         [](const MatrixHost& host) { return is_native(host) && !in_container(host); }},
        {"the kernel of native Linux",
         R"(systemctl reboot|modprobe|\bdkms\b|grub|/sys/module|/sys/class|amdgpu-install|usermod|newgrp|/dev/kfd|/dev/dri|/lib/firmware|/proc/driver)",
         is_native},
        {"AMD",
         R"(\b(HIP|HSA|ROCR|ROCM|ROCBLAS|MIOPEN|HIPBLAS|BNB_ROCM|PYTORCH_ROCM|PYTORCH_HIP|AMD|AMDGCN|TRITON_HIP|TORCH_ROCM|TORCH_BLAS)_|/dev/kfd|\brocm|\bamdgpu\b|gfx\d|amdsmi|amd_smi|/opt/rocm|rocrand|miopen)",
         [](const MatrixHost& host) { return host.amd; }},
        {"NVIDIA",
         R"(nvidia-(smi|driver|open)|-S nvidia|akmod|--gpus|nvidia\.com|/whl/cu\d|\bCUBLAS|CUDA_ARCH|sm_\d)",
         [](const MatrixHost& host) { return host.nvidia; }},
        {"NVIDIA's targets for AMD's tools", R"((gfx|ROCM_ARCH=|device-)sm_)",
         [](const MatrixHost&) { return false; }},
        {"the shell of Unix",
         R"(\bexport |\bunset |\bprintenv\b|\bsudo\b|/bin/|\$\(|/etc/|/proc/|/sys/|/dev/|~/|\bgrep\b|\bls \b|\bcp \b|\brm \b|\bmv \b|\bulimit\b|\bcat\b|\bps -|\benv -u|\benv [A-Z]|^[A-Z_]+=\S+ \S|\bfor \w+ in\b|\bkill \d|ldconfig|\bfind /|\bdf -|\bid -)",
         [](const MatrixHost& host) { return !on_windows(host); }},
        {"PowerShell", R"(\$env:|Remove-Item|Get-ChildItem|Scripts[/\\])", on_windows},
        {"wsl.exe", R"(\bwsl --)", [](const MatrixHost& host) { return host.system == "wsl"; }},
        {"docker", R"(\bdocker\b)",
         [](const MatrixHost& host) { return !in_container(host) || host.container == "docker"; }},
        {"podman", R"(\bpodman\b)",
         [](const MatrixHost& host) { return host.container == "podman" || host.container.empty(); }},
        {"conda", R"(\bconda )", [](const MatrixHost& host) { return host.conda; }},
        {"a search path without /opt/rocm in it", R"(LD_LIBRARY_PATH .*grep -v "\^/opt/rocm")",
         [](const MatrixHost& host) { return host.rocm_on_library_path; }},
    };
    return all;
}

std::vector<std::string> commands_of(const Step& step) {
    std::vector<std::string> lines = step.commands;
    if (!step.verify.empty())
        lines.push_back(step.verify);
    return lines;
}

std::vector<std::string> texts_of(const Step& step) {
    std::vector<std::string> texts = commands_of(step);
    texts.insert(texts.end(), step.undo.begin(), step.undo.end());
    texts.insert(texts.end(), {step.title, step.changes, step.expect, step.risk});
    return texts;
}

/// The platforms that a line belongs to. The same lines occur on many hosts.
const std::vector<const Belonging*>& belongings_of(const std::string& line) {
    static std::map<std::string, std::vector<const Belonging*>> known;
    const auto [found, added] = known.try_emplace(line);
    if (added)
        for (const Belonging& one : belongings())
            if (RE2::PartialMatch(line, *one.pattern))
                found->second.push_back(&one);
    return found->second;
}

bool is_unfilled(const std::string& text) {
    static const RE2 unfilled(R"(<[a-z][a-z_]*>|\{[a-z_]+\})");
    static std::map<std::string, bool> known;
    const auto [found, added] = known.try_emplace(text);
    if (added)
        found->second = RE2::PartialMatch(text, unfilled);
    return found->second;
}

/// What is wrong with a step on a host, "" if nothing is.
std::string mistake_in(const Step& step, const MatrixHost& host) {
    for (const std::string& text : texts_of(step))
        if (is_unfilled(text))
            return fmt::format("a value was not filled in: {}", text);
    for (const std::string& line : commands_of(step))
        for (const Belonging* one : belongings_of(line))
            if (!one->fits(host))
                return fmt::format("a command of {}: {}", one->what, line);
    return "";
}

/// Values that rules and logs provide for the remedies' placeholders, where a test has nothing better.
std::map<std::string, std::string> parameters_of(const MatrixHost& host) {
    std::map<std::string, std::string> parameters{{"pid", "4711"},
                                                  {"command", "python"},
                                                  {"bytes", "21,443,379,200"},
                                                  {"variables", "NAME"},
                                                  {"variable", "NAME"},
                                                  {"option", "amdgpu.mtype_local"},
                                                  {"option_file", "/etc/modprobe.d/a.conf"},
                                                  {"package", "bitsandbytes"},
                                                  {"library", "libamdhip64.so.6"},
                                                  {"limit", "65536"},
                                                  {"group", "render"},
                                                  {"gid", "992"}};
    if (host.amd && !host.nvidia)
        parameters["gfx"] = "gfx1100";
    return parameters;
}

/// Remedy → host and mistake, the first of each.
class Mistakes {
  public:
    void look(const MatrixHost& host, const std::vector<Finding>& findings) {
        for (const Step& step : make_plan(host.facts, findings, embedded_knowledge()).steps)
            if (const std::string mistake = mistake_in(step, host); !mistake.empty())
                first_.try_emplace(step.id, fmt::format("{}: {}", host.name, mistake));
    }
    void report() const {
        fmt::print("{} of {} remedies contain something foreign or unknown on some host\n", first_.size(),
                   embedded_knowledge().remedies.size());
        for (const auto& [id, mistake] : first_)
            ADD_FAILURE() << id << " on " << mistake;
    }

  private:
    std::map<std::string, std::string> first_;
};

/// A finding with every remedy.
Finding for_all_remedies() {
    Finding finding;
    finding.cause = embedded_knowledge().causes.front().slug;
    for (const Remedy& remedy : embedded_knowledge().remedies)
        finding.remedies.push_back(remedy.id);
    return finding;
}

TEST(ForeignSteps, NoRemedyHasACommandOfAnotherPlatform) {
    Mistakes mistakes;
    Finding finding = for_all_remedies();
    for (const MatrixHost& host : fixtures::host_matrix()) {
        finding.parameters.clear();
        mistakes.look(host, {finding});
        finding.parameters = parameters_of(host);
        mistakes.look(host, {finding});
    }
    mistakes.report();
}

TEST(ForeignSteps, NoCauseLeadsToACommandOfAnotherPlatform) {
    Mistakes mistakes;
    std::vector<Finding> findings;
    for (const Cause& cause : embedded_knowledge().causes)
        findings.emplace_back().cause = cause.slug;
    for (const MatrixHost& host : fixtures::host_matrix())
        mistakes.look(host, findings);
    mistakes.report();
}

/// Checks that the test can fail: each kind of command occurs somewhere.
TEST(ForeignSteps, EveryKindOfCommandIsOfferedWhereItBelongs) {
    std::set<std::string> seen;
    Finding finding = for_all_remedies();
    for (const MatrixHost& host : fixtures::host_matrix()) {
        finding.parameters = parameters_of(host);
        for (const Step& step : make_plan(host.facts, {finding}, embedded_knowledge()).steps)
            for (const std::string& line : commands_of(step))
                for (const Belonging* one : belongings_of(line))
                    seen.insert(one->what);
    }
    for (const Belonging& one : belongings())
        if (one.what != "NVIDIA's targets for AMD's tools") {
            EXPECT_TRUE(seen.contains(one.what)) << one.what;
        }
}

} // namespace
} // namespace rekindle::doctor
