#pragma once
/// Queries of the rules about the facts: devices in the order in which a GPU runtime counts them, the Python
/// that is examined, and what is true where names, overrides and drivers disagree. Everything here returns
/// "unknown" (empty) if a fact is missing, so that no rule treats a missing fact as a bad one.

#include <rekindle/doctor/facts.h>
#include <rekindle/doctor/knowledge.h>
#include <rekindle/doctor/probe.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// Refers to its arguments, which must outlive it.
struct HostView {
    const Facts& facts;
    const std::vector<ProbeResult>& probes;
    const Knowledge& knowledge;
    const PythonEnvironment* python = nullptr; ///< the one that is examined; nullptr when none was found
    std::vector<const Gpu*> amd; ///< in the order of KFD nodes; those that KFD does not list come last
    std::vector<const Gpu*> nvidia;
};
HostView view_of(const Facts& facts, const std::vector<ProbeResult>& probes, const Knowledge& knowledge);

/// The GPU's own target, "gfx1010"; "" when unknown. A target read from a program's output is not believed
/// if an override names the same one and the GPU's name implies another.
std::string gfx_of(const HostView& view, const Gpu& gpu);
/// "RDNA1"; "" when unknown.
std::string architecture_of(const HostView& view, const Gpu& gpu);
/// "sm_86"; "" when unknown.
std::string sm_of(const HostView& view, const Gpu& gpu);
/// The model's name from the table of GPUs, else what the driver or the user calls it, else its address.
std::string name_of(const HostView& view, const Gpu& gpu);
bool is_integrated(const HostView& view, const Gpu& gpu);
/// False for the tiny integrated GPU (two compute units) of a desktop CPU.
bool worth_training_on(const HostView& view, const Gpu& gpu);

/// Variable of the process that is examined; empty when it is not set or unknown.
std::optional<std::string> variable(const HostView& view, const std::string& name);
/// AMD GPUs that ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES leave visible, in the
/// order in which HIP counts them.
std::vector<const Gpu*> visible_amd(const HostView& view);
/// NVIDIA GPUs that CUDA_VISIBLE_DEVICES leaves visible. CUDA treats an empty list as no GPUs and accepts
/// the beginning of a UUID.
std::vector<const Gpu*> visible_nvidia(const HostView& view);
/// Those of visible_amd() that a user would train on: the discrete ones, or integrated ones if there is no
/// other.
std::vector<const Gpu*> training_amd(const HostView& view);
/// The target that HSA_OVERRIDE_GFX_VERSION sets for this GPU: "gfx1030"; "" when none is set.
struct Override {
    std::string variable; ///< with the node's number if it applies to one node
    std::string value;    ///< "10.3.0"
    std::string gfx;      ///< "gfx1030"
};
std::optional<Override> override_of(const HostView& view, const Gpu& gpu);

const DeviceNode* device_node(const HostView& view, std::string_view path);
bool in_container(const HostView& view);
/// ROCm is meant to be used here: there is a wheel for it or an installation of it.
bool uses_rocm(const HostView& view);
/// Whether the state of AMD's driver and device files matters: not if torch is built for an NVIDIA GPU that
/// is also there, and in a container only if ROCm is to be used there.
bool amd_matters(const HostView& view);
/// Posted facts: only what they mention is known.
bool is_posted(const HostView& view);

/// "rocm", "cuda", "cpu", "xpu" or "" (unknown, or no torch).
std::string torch_kind(const HostView& view);
/// ROCm that torch was built with, "6.2"; "" when unknown or none.
std::string torch_rocm(const HostView& view);
/// CUDA that torch was built with, "12.4".
std::string torch_cuda(const HostView& view);
/// Whether ROCm is inside the wheel or its packages, so that /opt/rocm is not used.
bool brings_its_rocm(const HostView& view);
/// Version of a Python package in the examined environment.
std::optional<std::string> package_version(const HostView& view, std::string_view name);

/// GPU targets for which the examined torch has code.
struct WheelTargets {
    std::vector<std::string> names;
    std::string source; ///< file that was read, or "index rocm6.2 (checked 2026-11-21)"
    bool known = false;
};
WheelTargets torch_targets(const HostView& view);

} // namespace rekindle::doctor
