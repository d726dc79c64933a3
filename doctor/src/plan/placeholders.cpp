#include "plan/placeholders.h"

#include "facts/versions.h"
#include "knowledge/vocabulary.h"
#include "log/host_situation.h"
#include "plan/distribution.h"
#include "plan/wheel_choice.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>

namespace rekindle::doctor {

namespace {

constexpr std::string_view default_home = "$HOME";

/// The system whose wheels run here; WSL runs those for Linux.
std::string_view wheel_system(const HostView& view) {
    return system_of(view.facts.system) == "windows" ? "windows" : "linux";
}

std::string home_of(const HostView& view) {
    const auto& user = view.facts.system.user_name;
    if (!user || wheel_system(view) == "windows")
        return std::string(default_home);
    return *user == "root" ? "/root" : "/home/" + *user;
}

/// Whether the environment that is examined has the package, so that a new one needs it too.
bool has_package(const HostView& view, std::string_view name) {
    return view.python && std::any_of(view.python->packages.begin(), view.python->packages.end(),
                                      [&](const PythonPackage& package) { return package.name == name; });
}

/// torch and, where the examined environment has them, the companions that go with it:
/// `"torch==2.9.1" "torchvision==0.24.1"`.
std::string packages_with(const HostView& view, const std::string& torch) {
    std::string packages = fmt::format("\"torch=={}\"", torch);
    const TorchRelease* release = view.knowledge.torch_release(torch);
    const auto add = [&](std::string_view name, const std::vector<std::string>& versions) {
        if (!versions.empty() && has_package(view, name))
            packages += fmt::format(" \"{}=={}\"", name, versions.front());
    };
    if (release != nullptr) {
        add("torchvision", release->torchvision);
        add("torchaudio", release->torchaudio);
    }
    return packages;
}

/// The same from an index of packages for each device, which keeps the versions in step itself.
std::string device_packages(const HostView& view, const std::string& gfx) {
    std::string packages = fmt::format("\"torch[device-{}]\"", gfx);
    if (has_package(view, "torchvision"))
        packages += fmt::format(" \"torchvision[device-{}]\"", gfx);
    if (has_package(view, "torchaudio"))
        packages += " torchaudio";
    return packages;
}

void add_wheel(Values& values, const HostView& view, const std::string& prefix,
               const std::optional<WheelChoice>& choice, const std::string& interpreter,
               const std::string& version) {
    if (!choice)
        return;
    values[prefix + "_torch"] = choice->torch;
    values[prefix + "_packages"] = packages_with(view, choice->torch);
    values[prefix + "_index"] = choice->index->url;
    const bool same = version.empty() || choice->python.empty() || choice->python == version;
    values[prefix + "_python"] = same ? interpreter : "python" + choice->python;
}

/// Whether the vendor says that it tests the index's wheels for this target and system.
std::string tested_sentence(const WheelIndex& index, const std::string& gfx, std::string_view system) {
    const std::string_view name = system == "windows" ? "Windows" : "Linux";
    if (index.untested_on(system, gfx))
        return fmt::format(
            "AMD builds the wheels with code for {} on {} without testing them, so they may fail.", gfx,
            name);
    return fmt::format("AMD lists {} on {} as tested.", gfx, name);
}

/// The first documented image with a torch release that has code for the target in the official wheels too.
const ContainerImage* image_for(const Knowledge& knowledge, std::string_view gfx) {
    const GfxTarget* target = knowledge.gfx(gfx);
    for (const ContainerImage& image : knowledge.images) {
        if (!target || (!target->last_rocm.empty() && compare_versions(image.rocm, target->last_rocm) > 0 &&
                        !same_release(image.rocm, target->last_rocm)))
            continue;
        const auto holds_release = [&](const WheelIndex& index) {
            return std::any_of(
                index.releases.begin(), index.releases.end(),
                [&](const WheelIndex::Release& release) { return release.torch == image.torch; });
        };
        const bool covered =
            std::any_of(knowledge.indexes.begin(), knowledge.indexes.end(), [&](const WheelIndex& index) {
                return index.kind == "rocm" && !index.device_packages && holds_release(index) &&
                       knowledge.covers(index.targets_of(image.torch), gfx);
            });
        if (covered)
            return &image;
    }
    return nullptr;
}

void add_rocm(Values& values, const HostView& view, const std::string& gfx, const std::string& interpreter,
              const std::string& version) {
    const Knowledge& knowledge = view.knowledge;
    add_wheel(values, view, "wheel", rocm_wheel(knowledge, gfx, version), interpreter, version);
    const std::string_view system = wheel_system(view);
    if (const auto native = device_package_wheel(knowledge, gfx, system)) {
        values["native_packages"] = device_packages(view, gfx);
        values["native_index"] = native->index->url;
        values["native_checked"] = native->index->checked;
        values["native_tested"] = tested_sentence(*native->index, gfx, system);
        values["native_python"] = interpreter;
    }
    if (const ContainerImage* image = image_for(knowledge, gfx))
        values["image"] = image->tag;
    const GfxTarget* target = knowledge.gfx(gfx);
    if (!target)
        return;
    for (const GfxTarget::Override& known : target->overrides) {
        if (known.verdict != "safe")
            continue;
        const auto pretended = std::find_if(knowledge.gfx_targets.begin(), knowledge.gfx_targets.end(),
                                            [&](const GfxTarget& each) {
                                                std::string digits = known.value;
                                                std::erase(digits, '.');
                                                return each.name == "gfx" + digits;
                                            });
        if (pretended == knowledge.gfx_targets.end())
            continue;
        const auto choice = rocm_wheel_for_override(knowledge, *target, pretended->name, version);
        if (!choice)
            continue;
        add_wheel(values, view, "override", choice, interpreter, version);
        values["override"] = known.value;
        values["override_gfx"] = pretended->name;
        return;
    }
}

std::string group_id(const HostView& view, const std::string& path, const std::string& group) {
    if (const DeviceNode* node = device_node(view, path); node && node->group && !in_container(view))
        return std::to_string(*node->group);
    const auto& known = view.facts.system.known_groups;
    if (known && !in_container(view))
        if (const auto found = known->find(group); found != known->end())
            return std::to_string(found->second);
    return fmt::format("$(stat -c %g {})", path);
}

std::string render_path(const HostView& view) {
    for (const Gpu* gpu : view.amd)
        if (gpu->render_node)
            return *gpu->render_node;
    return "/dev/dri/renderD128";
}

/// A quarter of the host's memory in whole GiB, at least 1 and at most 16.
std::string shared_memory_size(const HostView& view) {
    constexpr std::uint64_t gib = 1ull << 30;
    if (!view.facts.system.memory_total)
        return "8g";
    return fmt::format("{}g", std::clamp<std::uint64_t>(*view.facts.system.memory_total / gib / 4, 1, 16));
}

/// The GPUs to train on, by UUID, as ROCR_VISIBLE_DEVICES takes them.
void add_visible(Values& values, const HostView& view) {
    std::string list;
    const auto cards = training_amd(view);
    for (const Gpu* gpu : cards) {
        if (!gpu->uuid)
            return;
        list += (list.empty() ? "" : ",") + *gpu->uuid;
    }
    if (list.empty())
        return;
    values["visible"] = list;
    values["devices"] = std::to_string(cards.size());
}

/// The ordinal of a GPU to train on that a finding does not blame, as the runtime counts them.
void add_other_gpu(Values& values, const HostView& view, const Finding& finding, const Platform& platform) {
    const bool nvidia =
        std::find(platform.vendors.begin(), platform.vendors.end(), "nvidia") != platform.vendors.end();
    const std::vector<const Gpu*> cards = nvidia ? view.nvidia : visible_amd(view);
    if (finding.devices.empty())
        return;
    for (std::size_t i = 0; i < cards.size(); ++i) {
        const auto& blamed = finding.devices;
        if (!worth_training_on(view, *cards[i]) ||
            std::find(blamed.begin(), blamed.end(), cards[i]->address) != blamed.end())
            continue;
        values["other_gpu"] = std::to_string(i);
        return;
    }
}

/// The command that starts a container of Apptainer, which sets its variables under both names, or of
/// Singularity.
std::string apptainer_command(const HostView& view) {
    const auto& variables = view.facts.environment.variables;
    const auto sets = [&](std::string_view prefix) {
        return variables && std::any_of(variables->begin(), variables->end(),
                                        [&](const auto& one) { return one.first.starts_with(prefix); });
    };
    return sets("SINGULARITY_") && !sets("APPTAINER_") ? "singularity" : "apptainer";
}

/// The command that runs container images; nothing if it is neither Docker, Podman nor Apptainer.
void add_container_tool(Values& values, const HostView& view, const Platform& platform) {
    if (platform.container == "singularity")
        values["apptainer"] = apptainer_command(view);
    if (platform.container.empty() || platform.container == "docker")
        values["container_tool"] = "docker";
    else if (platform.container == "podman")
        values["container_tool"] = "podman";
}

void add_distribution(Values& values, const System& system) {
    const bool root = system.user_id.is(0);
    for (auto& [name, value] :
         package_placeholders(system.os_id.value_or(""), system.os_version.value_or("")))
        values[name] = root && value.starts_with("sudo ") ? value.substr(5) : value;
}

std::string python_version_of(const HostView& view) {
    return view.python ? view.python->version.value_or("") : "";
}

std::string interpreter_of(const HostView& view) {
    return view.python && !view.python->interpreter.empty() ? view.python->interpreter : "python3";
}

void add_python(Values& values, const HostView& view) {
    // The variable that the shell of an activated environment sets, if nothing was read.
    values["environment"] =
        view.python && !view.python->path.empty() ? view.python->path : "${VIRTUAL_ENV:-$CONDA_PREFIX}";
    if (view.python && view.python->torch)
        values["torch"] = *view.python->torch;
    values["python"] = interpreter_of(view);
}

void add_host(Values& values, const HostView& view, bool elsewhere) {
    const System& system = view.facts.system;
    values["kfd_gid"] = group_id(view, "/dev/kfd", "render");
    values["render_gid"] = group_id(view, render_path(view), "render");
    values["shm_size"] = shared_memory_size(view);
    values["home"] = home_of(view);
    if (!view.amd.empty() && view.amd.front()->card_node)
        values["card"] = view.amd.front()->card_node->substr(std::string_view("/dev/dri/").size());
    values["override_variable"] = "HSA_OVERRIDE_GFX_VERSION";
    if (const auto set = variable(view, "HSA_OVERRIDE_GFX_VERSION"))
        values["override_value"] = *set;
    add_visible(values, view);
    values["limit"] = "65536";
    values["group"] = "render";
    values["user"] = elsewhere ? "$USER" : system.user_name.value_or("$USER");
    if (!elsewhere) {
        add_distribution(values, system);
        if (system.kernel)
            values["kernel"] = *system.kernel;
    }
    if (system.memory_total) // half of the memory, in pages of 4 KiB: the kernel's own default for GTT
        values["gtt_pages"] = std::to_string(*system.memory_total / 2 / 4096);
}

} // namespace

std::string new_environment(const HostView& view, std::string_view remedy) {
    return fmt::format("{}/rekindle-env/{}", home_of(view), remedy);
}

Placeholders::Placeholders(const HostView& view) : view_(view) {
    add_host(here_, view, false);
    add_host(elsewhere_, view, true);
    for (Values* values : {&here_, &elsewhere_})
        add_python(*values, view);
}

const Values& Placeholders::wheels_for(const std::string& gfx, const std::string& sm) {
    const auto [found, added] = wheels_.try_emplace({gfx, sm});
    Values& values = found->second;
    if (!added)
        return values;
    const std::string version = python_version_of(view_), interpreter = interpreter_of(view_);
    if (!gfx.empty()) {
        values["gfx"] = gfx;
        add_rocm(values, view_, gfx, interpreter, version);
    }
    if (!sm.empty()) {
        values["sm"] = sm;
        values["compute_capability"] = sm.substr(3, sm.size() - 4) + "." + sm.back();
        const Drivers& drivers = view_.facts.drivers;
        const std::string driver = drivers.nvidia_module.value_or(drivers.nvidia_library.value_or(""));
        add_wheel(values, view_, "cuda", cuda_wheel(view_.knowledge, sm, driver, version), interpreter,
                  version);
    }
    return values;
}

ValuesOfFinding Placeholders::of(const Finding& finding, const Platform& platform) {
    std::string gfx;
    std::string sm;
    if (const auto found = finding.parameters.find("gfx"); found != finding.parameters.end())
        gfx = found->second;
    else if (const auto cards = training_amd(view_); !cards.empty())
        gfx = gfx_of(view_, *cards.front());
    if (const auto found = finding.parameters.find("sm"); found != finding.parameters.end())
        sm = found->second;
    else if (!view_.nvidia.empty())
        sm = sm_of(view_, *view_.nvidia.front());
    ValuesOfFinding result{here_, elsewhere_};
    for (Values* values : {&result.here, &result.elsewhere}) {
        add_container_tool(*values, view_, platform);
        add_other_gpu(*values, view_, finding, platform);
        for (const auto& [name, value] : wheels_for(gfx, sm))
            (*values)[name] = value;
        for (const auto& [name, value] : finding.parameters)
            (*values)[name] = value;
    }
    return result;
}

Filled fill_in(std::string_view text, const Values& values) {
    Filled filled;
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t open = text.find('{', at);
        const std::size_t close = open == std::string_view::npos ? open : text.find('}', open);
        if (close == std::string_view::npos)
            break;
        const std::string_view name = text.substr(open + 1, close - open - 1);
        filled.text += text.substr(at, open - at);
        at = close + 1;
        if (!is_remedy_placeholder(name)) { // braces in shell or Python code
            filled.text += text.substr(open, close + 1 - open);
            continue;
        }
        if (const auto value = values.find(name); value != values.end() && !value->second.empty())
            filled.text += value->second;
        else
            filled.missing.emplace_back(name);
    }
    filled.text += text.substr(at);
    return filled;
}

} // namespace rekindle::doctor
