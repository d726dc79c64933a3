#pragma once
/// What rules ask of the facts: devices in the order in which a GPU runtime counts them, the Python that is
/// judged, and what is true where names, overrides and drivers say different things. Everything here answers
/// "unknown" (empty) where a fact is missing, so that no rule takes a missing fact for a bad one.

#include <rekindle/doctor/facts.h>
#include <rekindle/doctor/knowledge.h>
#include <rekindle/doctor/probe.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// Refers to its arguments and lives no longer than they do.
struct HostView {
    const Facts& facts;
    const std::vector<ProbeResult>& probes;
    const Knowledge& knowledge;
    const PythonEnvironment* python = nullptr; ///< the one that is judged; nullptr when none was found
    std::vector<const Gpu*> amd; ///< in the order of KFD nodes; those that KFD does not list last
    std::vector<const Gpu*> nvidia;
};
HostView view_of(const Facts& facts, const std::vector<ProbeResult>& probes, const Knowledge& knowledge);

/// The card's own target, "gfx1010"; "" when not known. A target read from a program's output is not believed
/// where an override names the same one and the card's name says another.
std::string gfx_of(const HostView& view, const Gpu& gpu);
/// "RDNA1"; "" when not known.
std::string architecture_of(const HostView& view, const Gpu& gpu);
/// "sm_86"; "" when not known.
std::string sm_of(const HostView& view, const Gpu& gpu);
/// The model's name from the table of GPUs, else what the driver or the user calls it, else its address.
std::string name_of(const HostView& view, const Gpu& gpu);
bool is_integrated(const HostView& view, const Gpu& gpu);
/// Not the two-unit graphics of a desktop processor.
bool worth_training_on(const HostView& view, const Gpu& gpu);

/// Variable of the process that is judged; empty when it is not set or not known.
std::optional<std::string> variable(const HostView& view, const std::string& name);
/// AMD GPUs that are left after ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES, in the
/// order in which HIP counts them.
std::vector<const Gpu*> visible_amd(const HostView& view);
/// NVIDIA GPUs that CUDA_VISIBLE_DEVICES leaves. CUDA takes an empty list for none, and the beginning of a
/// UUID for it.
std::vector<const Gpu*> visible_nvidia(const HostView& view);
/// Those of visible_amd() that somebody would train on: the discrete ones, or integrated ones where there is
/// no other.
std::vector<const Gpu*> training_amd(const HostView& view);
/// The target that HSA_OVERRIDE_GFX_VERSION makes of this card: "gfx1030"; "" when none is set.
struct Override {
    std::string variable; ///< with the node's number where it is for one node
    std::string value;    ///< "10.3.0"
    std::string gfx;      ///< "gfx1030"
};
std::optional<Override> override_of(const HostView& view, const Gpu& gpu);

const DeviceNode* device_node(const HostView& view, std::string_view path);
bool in_container(const HostView& view);
/// Somebody means to use ROCm here: a wheel for it or an installation of it.
bool uses_rocm(const HostView& view);
/// Whether the state of AMD's driver and device files matters: not beside an NVIDIA card that torch is built
/// for, and in a container only when ROCm is to be used there.
bool amd_matters(const HostView& view);
/// Facts that somebody posted: only what they mention is known.
bool is_posted(const HostView& view);

/// "rocm", "cuda", "cpu", "xpu" or "" (unknown, or no torch).
std::string torch_kind(const HostView& view);
/// ROCm that torch was built with, "6.2"; "" when not known or none.
std::string torch_rocm(const HostView& view);
/// CUDA that torch was built with, "12.4".
std::string torch_cuda(const HostView& view);
/// Whether ROCm lies inside the wheel or its packages, so that /opt/rocm is not used.
bool brings_its_rocm(const HostView& view);
/// Version of a Python package of the judged environment.
std::optional<std::string> package_version(const HostView& view, std::string_view name);

/// GPU targets for which the judged torch has code.
struct WheelTargets {
    std::vector<std::string> names;
    std::string source; ///< file that was read, or "index rocm6.2 (checked 2026-11-21)"
    bool known = false;
};
WheelTargets torch_targets(const HostView& view);

} // namespace rekindle::doctor
