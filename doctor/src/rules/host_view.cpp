#include "rules/host_view.h"

#include "facts/versions.h"
#include "knowledge/gpu_model.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace rekindle::doctor {

namespace {

const PythonEnvironment* examined_python(const Facts& facts) {
    const PythonEnvironment* best = nullptr;
    const auto rank = [](const PythonEnvironment& python) {
        return (python.torch.known() || python.torch_kind.known() ? 2 : 0) + (python.active ? 1 : 0);
    };
    for (const PythonEnvironment& python : facts.pythons)
        if (!best || rank(python) > rank(*best))
            best = &python;
    return best;
}

std::optional<int> to_number(std::string_view text) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return number;
}

/// "9.0.10" → "gfx90a".
std::string gfx_of_override_value(std::string_view value) {
    const auto parts = split(trim(value), '.');
    if (parts.size() != 3)
        return "";
    const auto major = to_number(parts[0]);
    const auto minor = to_number(parts[1]);
    const auto step = to_number(parts[2]);
    if (!major || !minor || !step)
        return "";
    return fmt::format("gfx{}{}{:x}", *major, *minor, static_cast<unsigned>(*step));
}

/// The devices that a visibility variable leaves visible, in its order. As in ROCR and HIP, the first entry
/// that names no device ends the list.
std::vector<const Gpu*> filtered(const std::vector<const Gpu*>& devices, std::string_view list) {
    std::vector<const Gpu*> left;
    for (const std::string_view part : split(list, ',')) {
        const std::string_view entry = trim(part);
        const Gpu* found = nullptr;
        if (const auto index = to_number(entry); index && *index >= 0) {
            if (static_cast<std::size_t>(*index) < devices.size())
                found = devices[static_cast<std::size_t>(*index)];
        } else {
            for (const Gpu* gpu : devices)
                if (gpu->uuid.is(std::string(entry)))
                    found = gpu;
        }
        if (!found)
            break;
        left.push_back(found);
    }
    return left;
}

/// "rocm6.2" of "2.5.1+rocm6.2"; "" when there is none.
std::string torch_local(const HostView& view) {
    if (!view.python || !view.python->torch)
        return {};
    return torch_version(*view.python->torch).local;
}

bool is_device_package(const std::string& name) {
    return name.starts_with("amd-torch-device-gfx") || name.starts_with("rocm-sdk-device-gfx");
}

WheelTargets targets_of_packages(const PythonEnvironment& python) {
    WheelTargets targets;
    for (const PythonPackage& package : python.packages) {
        if (is_device_package(package.name)) {
            targets.names.push_back(package.name.substr(package.name.rfind("gfx")));
            targets.source = package.source.empty() ? package.name : package.source;
            targets.known = true;
        }
    }
    return targets;
}

} // namespace

HostView view_of(const Facts& facts, const std::vector<ProbeResult>& probes, const Knowledge& knowledge) {
    HostView view{facts, probes, knowledge, examined_python(facts), {}, {}};
    for (const Gpu& gpu : facts.gpus) {
        if (gpu.vendor == "amd")
            view.amd.push_back(&gpu);
        if (gpu.vendor == "nvidia")
            view.nvidia.push_back(&gpu);
    }
    std::stable_sort(view.amd.begin(), view.amd.end(), [](const Gpu* a, const Gpu* b) {
        constexpr int last = 1 << 20;
        return a->kfd_node.value_or(last) < b->kfd_node.value_or(last);
    });
    return view;
}

std::string gfx_of(const HostView& view, const Gpu& gpu) {
    const GpuModel* model = model_of(gpu, view.knowledge);
    std::string by_model = model && model->target.starts_with("gfx") ? model->target : "";
    if (!gpu.gfx)
        return by_model;
    const bool from_the_kernel = gpu.gfx.source.starts_with("/sys/");
    if (!from_the_kernel && !by_model.empty() && by_model != *gpu.gfx) {
        const auto claimed = override_of(view, gpu);
        if (claimed && claimed->gfx == *gpu.gfx)
            return by_model;
    }
    return *gpu.gfx;
}

std::string architecture_of(const HostView& view, const Gpu& gpu) {
    const GfxTarget* target = view.knowledge.gfx(gfx_of(view, gpu));
    return target ? target->architecture : "";
}

std::string sm_of(const HostView& view, const Gpu& gpu) {
    if (gpu.compute_capability) {
        std::string digits = *gpu.compute_capability;
        std::erase(digits, '.');
        return "sm_" + digits;
    }
    const GpuModel* model = model_of(gpu, view.knowledge);
    return model && model->target.starts_with("sm_") ? model->target : "";
}

std::string name_of(const HostView& view, const Gpu& gpu) {
    if (const GpuModel* model = model_of(gpu, view.knowledge))
        return model->name;
    return gpu.name ? *gpu.name : gpu.address;
}

bool is_integrated(const HostView& view, const Gpu& gpu) {
    if (gpu.integrated)
        return *gpu.integrated;
    if (const GpuModel* model = model_of(gpu, view.knowledge); model && model->integrated)
        return true;
    const GfxTarget* target = view.knowledge.gfx(gfx_of(view, gpu));
    return target && target->integrated;
}

bool worth_training_on(const HostView& view, const Gpu& gpu) {
    constexpr int desktop_graphics_units = 2;
    if (!is_integrated(view, gpu))
        return true;
    if (gpu.compute_units)
        return *gpu.compute_units > desktop_graphics_units;
    return gfx_of(view, gpu) != "gfx1036";
}

std::optional<std::string> variable(const HostView& view, const std::string& name) {
    const auto& variables = view.facts.environment.variables;
    if (!variables)
        return std::nullopt;
    const auto found = variables->find(name);
    return found == variables->end() ? std::nullopt : std::optional(found->second);
}

std::vector<const Gpu*> visible_amd(const HostView& view) {
    std::vector<const Gpu*> devices;
    const bool kfd_known =
        std::any_of(view.amd.begin(), view.amd.end(), [](const Gpu* gpu) { return gpu->kfd_node.known(); });
    for (const Gpu* gpu : view.amd)
        if (gpu->kfd_node || !kfd_known)
            devices.push_back(gpu);
    if (const auto list = variable(view, "ROCR_VISIBLE_DEVICES"))
        devices = filtered(devices, *list);
    if (const auto list = variable(view, "HIP_VISIBLE_DEVICES"))
        return filtered(devices, *list);
    if (const auto list = variable(view, "CUDA_VISIBLE_DEVICES"); list && !list->empty())
        return filtered(devices, *list);
    return devices;
}

std::vector<const Gpu*> visible_nvidia(const HostView& view) {
    const auto list = variable(view, "CUDA_VISIBLE_DEVICES");
    if (!list)
        return view.nvidia;
    std::vector<const Gpu*> devices;
    for (const std::string_view part : split(*list, ',')) {
        const std::string_view entry = trim(part);
        if (entry.starts_with("MIG-"))
            return view.nvidia; // a slice of one of them
        const auto index = to_number(entry);
        const auto found = std::find_if(view.nvidia.begin(), view.nvidia.end(), [&](const Gpu* gpu) {
            return entry.starts_with("GPU-") && (!gpu->uuid || gpu->uuid->starts_with(entry));
        });
        if (index && *index >= 0 && static_cast<std::size_t>(*index) < view.nvidia.size())
            devices.push_back(view.nvidia[static_cast<std::size_t>(*index)]);
        else if (found != view.nvidia.end())
            devices.push_back(*found);
        else
            break; // the first entry that names no device ends the list
    }
    return devices;
}

std::vector<const Gpu*> training_amd(const HostView& view) {
    std::vector<const Gpu*> discrete, integrated;
    for (const Gpu* gpu : visible_amd(view)) {
        if (!worth_training_on(view, *gpu))
            continue;
        (is_integrated(view, *gpu) ? integrated : discrete).push_back(gpu);
    }
    return discrete.empty() ? integrated : discrete;
}

std::optional<Override> override_of(const HostView& view, const Gpu& gpu) {
    std::vector<std::string> names{"HSA_OVERRIDE_GFX_VERSION"};
    if (gpu.kfd_node)
        names.insert(names.begin(), fmt::format("HSA_OVERRIDE_GFX_VERSION_{}", *gpu.kfd_node));
    for (const std::string& name : names)
        if (const auto value = variable(view, name); value && !value->empty())
            return Override{name, *value, gfx_of_override_value(*value)};
    return std::nullopt;
}

const DeviceNode* device_node(const HostView& view, std::string_view path) {
    for (const DeviceNode& node : view.facts.system.device_nodes)
        if (node.path == path)
            return &node;
    return nullptr;
}

bool in_container(const HostView& view) {
    return view.facts.system.container && *view.facts.system.container != "none";
}

bool uses_rocm(const HostView& view) {
    return torch_kind(view) == "rocm" || !view.facts.rocm.installations.empty();
}

bool amd_matters(const HostView& view) {
    if (view.amd.empty())
        return false;
    const bool on_its_own = view.nvidia.empty() && !in_container(view);
    return on_its_own || torch_kind(view) == "rocm" || (uses_rocm(view) && torch_kind(view).empty());
}

bool is_posted(const HostView& view) {
    return view.facts.origin.starts_with("a posted");
}

std::string torch_kind(const HostView& view) {
    if (!view.python)
        return "";
    if (view.python->torch_kind)
        return *view.python->torch_kind;
    const std::string local = torch_local(view);
    if (local.starts_with("rocm") || view.python->torch_hip.known())
        return "rocm";
    if (local.starts_with("cu") || view.python->torch_cuda.known())
        return "cuda";
    return local == "cpu" || local == "xpu" ? local : "";
}

std::string torch_rocm(const HostView& view) {
    if (torch_kind(view) != "rocm")
        return "";
    const std::string local = torch_local(view);
    if (local.starts_with("rocm") && local.size() > 4)
        return local.substr(4);
    if (view.python->torch_hip) {
        const auto parts = split(*view.python->torch_hip, '.');
        if (parts.size() >= 2)
            return fmt::format("{}.{}", parts[0], parts[1]);
    }
    return "";
}

std::string torch_cuda(const HostView& view) {
    if (torch_kind(view) != "cuda")
        return "";
    if (view.python->torch_cuda)
        return *view.python->torch_cuda;
    const std::string local = torch_local(view);
    if (local.size() < 4 || !local.starts_with("cu") || !to_number(local.substr(2)))
        return "";
    return fmt::format("{}.{}", local.substr(2, local.size() - 3), local.back());
}

bool brings_its_rocm(const HostView& view) {
    return view.python && (view.python->rocm_style.is("bundled") || view.python->rocm_style.is("packages"));
}

std::optional<std::string> package_version(const HostView& view, std::string_view name) {
    if (view.python)
        for (const PythonPackage& package : view.python->packages)
            if (package.name == name)
                return package.version;
    return std::nullopt;
}

WheelTargets torch_targets(const HostView& view) {
    WheelTargets targets;
    if (!view.python)
        return targets;
    for (const LibraryTargets& library : view.python->libraries) {
        if (library.part != "torch" || library.targets.empty())
            continue;
        targets.names.insert(targets.names.end(), library.targets.begin(), library.targets.end());
        targets.source = library.path;
        targets.known = true;
    }
    if (targets.known)
        return targets;
    if (view.python->rocm_style.is("packages"))
        return targets_of_packages(*view.python);
    if (!view.python->torch || view.python->rocm_style.is("system"))
        return targets;
    const TorchVersion version = torch_version(*view.python->torch);
    std::string id = version.local;
    if (id.empty() && !torch_cuda(view).empty()) {
        id = "cu" + torch_cuda(view);
        std::erase(id, '.');
    }
    const WheelIndex* index = view.knowledge.index(id);
    if (!index || index->device_packages)
        return targets;
    targets.names = index->targets_of(version.release);
    targets.source =
        fmt::format("index {} for torch {} (checked {})", index->id, version.release, index->checked);
    targets.known = !targets.names.empty();
    return targets;
}

} // namespace rekindle::doctor
