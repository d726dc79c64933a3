#include "log/derived_keys.h"

#include "facts/versions.h"
#include "knowledge/gfx_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <re2/re2.h>

namespace rekindle::doctor {
namespace {

std::vector<std::string> values_of(const Situation& situation, std::string_view key) {
    const Situation::Known* known = situation.find(key);
    return known == nullptr ? std::vector<std::string>() : known->values;
}

void add_architectures(Situation& situation, const Knowledge& knowledge, std::string_view key) {
    const std::string source(situation.source(key));
    for (const std::string& gfx : values_of(situation, key))
        if (const GfxTarget* target = knowledge.gfx(gfx))
            situation.add(key, target->architecture, source);
}

/// "2.7.1+rocm7.13.0a20260508" → "rocm7.13.0a20260508".
std::string_view local_part(std::string_view version) {
    const std::size_t plus = version.find('+');
    return plus == std::string_view::npos ? std::string_view() : version.substr(plus + 1);
}

/// Who built a wheel with this local version, by the forms that the three publishers use.
std::string_view publisher(std::string_view local) {
    if (local.find("git") != std::string_view::npos || local.find(".lw") != std::string_view::npos)
        return "amd";
    const std::string_view rest = local.starts_with("rocm") ? local.substr(4) : std::string_view();
    const bool letters = std::any_of(rest.begin(), rest.end(),
                                     [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; });
    // TheRock numbers its previews 7.9 to 7.13; the wheels of pytorch.org go from 7.2 to 7.14.
    const bool preview = version_in(rest, ">=7.9, <7.14").value_or(false);
    return local.starts_with("devrocm") || letters || preview ? "therock" : "pytorch.org";
}

void derive_torch(Situation& situation) {
    const std::string torch(situation.first("torch"));
    const std::string source(situation.source("torch"));
    const std::string_view local = local_part(torch);
    static const RE2 of_rocm(R"(^(?:dev)?rocm(?:sdk)?(\d[\w.]*))"), of_cuda(R"(^cu(\d{2,3})\b)"),
        nightly(R"(\.dev\d{8}|^\d+\.\d+\.\d+a\d)");
    std::string rocm;
    std::string cuda;
    if (RE2::PartialMatch(local, of_rocm, &rocm)) {
        situation.add("torch_kind", "rocm", source);
        if (situation.find("rocm") == nullptr)
            situation.add("rocm", rocm, source);
    } else if (RE2::PartialMatch(local, of_cuda, &cuda)) {
        situation.add("torch_kind", "cuda", source);
        if (situation.find("cuda") == nullptr)
            situation.add("cuda", cuda.insert(cuda.size() - 1, 1, '.'), source);
    } else if (local == "cpu" || local == "xpu") {
        situation.add("torch_kind", local, source);
    }
    if (situation.find("torch_involved") == nullptr && situation.find("torch_unstated") != nullptr)
        situation.add("torch_involved", "false", situation.source("torch_unstated"));
    if (!local.empty())
        situation.add("torch_source", publisher(local), source);
    if (!torch.empty())
        situation.add_flag("torch_nightly", RE2::PartialMatch(torch, nightly), source);
    // A wheel brings its own ROCm; the system's counts only if no wheel says otherwise.
    if (situation.find("rocm") == nullptr)
        for (const std::string& version : values_of(situation, "rocm_system"))
            situation.add("rocm", version, situation.source("rocm_system"));
}

/// "rocm6.2" for "2.5.1+rocm6.2"; "cu128"; for wheels of which only the ROCm version is known, "rocm"
/// followed by that version.
std::string index_id(const Situation& situation) {
    const std::string_view local = local_part(situation.first("torch"));
    if (!local.empty())
        return std::string(local);
    static const RE2 release(R"(^(\d+\.\d+(?:\.\d+)?))");
    std::string rocm;
    if (situation.has("torch_kind", "rocm") && RE2::PartialMatch(situation.first("rocm"), release, &rocm))
        return "rocm" + rocm;
    return "";
}

std::vector<std::string> wheel_targets(const Situation& situation, const Knowledge& knowledge) {
    std::vector<std::string> read = values_of(situation, "wheel_targets");
    if (!read.empty())
        return read;
    const std::string id = index_id(situation);
    if (id.empty() ||
        (situation.find("torch_source") != nullptr && !situation.has("torch_source", "pytorch.org")))
        return {};
    const WheelIndex* index = knowledge.index(id);
    if (index == nullptr)
        return {};
    const std::string_view torch = situation.first("torch");
    return index->targets_of(torch.substr(0, torch.find('+')));
}

/// The targets that were read or named, without architecture names; only discrete ones if there are any.
std::vector<std::string> device_targets(const Situation& situation, const Knowledge& knowledge) {
    std::vector<std::string> all;
    std::vector<std::string> discrete;
    for (const std::string& gfx : values_of(situation, "gfx")) {
        if (!gfx.starts_with("gfx") && !gfx.starts_with("sm_"))
            continue;
        all.push_back(gfx);
        if (!knowledge.is_integrated(gfx))
            discrete.push_back(gfx);
    }
    return discrete.empty() ? all : discrete;
}

void derive_coverage(Situation& situation, const Knowledge& knowledge) {
    const std::vector<std::string> targets = wheel_targets(situation, knowledge);
    const std::vector<std::string> devices = device_targets(situation, knowledge);
    if (targets.empty() || devices.empty())
        return;
    const auto count = std::count_if(devices.begin(), devices.end(), [&](const std::string& device) {
        return knowledge.covers(targets, device);
    });
    // With some devices in the wheel and others not, the result depends on which one was used.
    if (count == 0 || count == std::ssize(devices))
        situation.add_flag("wheel_contains_gfx", count != 0, "targets of the wheel");
}

void derive_override(Situation& situation, const Knowledge& knowledge) {
    const Situation::Known* variable = situation.find("env.HSA_OVERRIDE_GFX_VERSION");
    const std::vector<std::string> devices = device_targets(situation, knowledge);
    if (variable != nullptr && !devices.empty()) {
        const std::string shown = gfx_of_override(variable->values.front());
        if (!shown.empty())
            situation.add_flag("override_native",
                               std::find(devices.begin(), devices.end(), shown) != devices.end(),
                               variable->source);
    }
    const Situation::Known* shown = situation.find("shown_gfx");
    if (shown != nullptr && !devices.empty()) {
        const std::vector<std::string> real = values_of(situation, "gfx");
        const bool differs =
            std::any_of(shown->values.begin(), shown->values.end(), [&](const std::string& gfx) {
                return gfx.starts_with("gfx") && std::find(real.begin(), real.end(), gfx) == real.end();
            });
        situation.add_flag("gfx_shown_differs", differs, shown->source);
    }
}

void derive_message_gfx(Situation& situation, const Knowledge& knowledge) {
    const std::vector<std::string> named = values_of(situation, "message_gfx");
    if (named.empty())
        return;
    const std::string source(situation.source("message_gfx"));
    const bool integrated = std::any_of(named.begin(), named.end(),
                                        [&](const std::string& gfx) { return knowledge.is_integrated(gfx); });
    situation.add_flag("message_gfx_integrated", integrated, source);
    const std::vector<std::string> devices = device_targets(situation, knowledge);
    if (!devices.empty())
        situation.add_flag("message_gfx_is_device",
                           std::any_of(named.begin(), named.end(),
                                       [&](const std::string& gfx) {
                                           return std::find(devices.begin(), devices.end(), gfx) !=
                                                  devices.end();
                                       }),
                           source);
}

void derive_soname(Situation& situation) {
    const std::string soname(situation.first("soname"));
    static const RE2 rocm_library(
        R"(^lib(?:amdhip64|hiprtc|hipblas|rocblas|hsa-runtime64|MIOpen|rccl)\.so\.(\d+))");
    int soname_version = 0;
    if (!RE2::PartialMatch(soname, rocm_library, &soname_version))
        return;
    const std::vector<long> rocm = version_numbers(situation.first("rocm"));
    // Only libamdhip64 and libhiprtc have the version numbers of ROCm itself.
    if (!rocm.empty() && (soname.starts_with("libamdhip64") || soname.starts_with("libhiprtc")))
        situation.add_flag("soname_matches_rocm", rocm.front() == soname_version, situation.source("soname"));
}

void derive_memory(Situation& situation) {
    const std::optional<double> capacity = situation.number("oom.capacity_gib");
    if (!capacity || *capacity <= 0)
        return;
    const std::string source(situation.source("oom.capacity_gib"));
    const auto share = [&](std::string_view amount, std::string_view key) {
        if (const std::optional<double> gib = situation.number(amount))
            situation.set_number(key, *gib / *capacity, source);
    };
    // torch before 2.1 reports reserved memory including the part that is in use.
    const std::optional<double> reserved_gib = situation.number("oom.reserved_gib");
    const std::optional<double> allocated_gib = situation.number("oom.allocated_gib");
    if (reserved_gib && allocated_gib && !situation.number("oom.reserved_unallocated_gib"))
        situation.set_number("oom.reserved_unallocated_gib", std::max(0.0, *reserved_gib - *allocated_gib),
                             source);
    share("oom.tried_gib", "oom.tried_share");
    share("oom.free_gib", "oom.free_share");
    share("oom.allocated_gib", "oom.allocated_share");
    share("oom.reserved_unallocated_gib", "oom.reserved_unallocated_share");
    share("oom.other_process_gib", "oom.other_process_share");
    const std::optional<double> free = situation.number("oom.free_gib");
    const std::optional<double> allocated = situation.number("oom.allocated_gib");
    if (free && allocated) {
        const double cached = situation.number("oom.reserved_unallocated_gib").value_or(0);
        const double others = situation.number("oom.other_process_gib").value_or(0);
        const double rest = *capacity - *free - *allocated - cached - others;
        situation.set_number("oom.unaccounted_share", std::max(0.0, rest / *capacity), source);
    }
    const std::optional<double> vram =
        situation.number(situation.find("kernel_vram_gib") != nullptr ? std::string_view("kernel_vram_gib")
                                                                      : std::string_view("vram_gib"));
    if (vram && *vram > 0)
        situation.set_number("oom.capacity_of_vram_share", *capacity / *vram, source);
}

/// The fullest GPU, from the figures that rocm-smi prints for each.
void derive_used_memory(Situation& situation) {
    constexpr std::string_view used_key = "vram_used_of_card";
    std::vector<std::string> cards;
    for (const auto& [key, known] : situation.known())
        if (key.starts_with(used_key))
            cards.push_back(key.substr(used_key.size()));
    for (const std::string& card : cards) {
        const std::string key = std::string(used_key) + card;
        const std::optional<double> used = situation.number(key);
        std::optional<double> total = situation.number("vram_total_of_card" + card);
        if (!total)
            total = situation.number("vram_gib");
        if (used && total && *total > 0 && *used / *total > situation.number("vram_used_share").value_or(-1))
            situation.set_number("vram_used_share", *used / *total, std::string(situation.source(key)));
    }
}

void derive_driver(Situation& situation) {
    const std::string module(situation.first("driver_module"));
    const std::string library(situation.first("driver_library"));
    if (!module.empty() && !library.empty())
        situation.add_flag("driver_mismatch", module != library, situation.source("driver_module"));
}

} // namespace

void derive(Situation& situation, const Knowledge& knowledge) {
    derive_torch(situation);
    derive_coverage(situation, knowledge);
    derive_override(situation, knowledge);
    derive_message_gfx(situation, knowledge);
    derive_soname(situation);
    derive_memory(situation);
    derive_used_memory(situation);
    derive_driver(situation);
    for (const std::string& gfx : values_of(situation, "gfx"))
        if (knowledge.is_integrated(gfx))
            situation.set("integrated", "true", situation.source("gfx"));
    add_architectures(situation, knowledge, "gfx");
    add_architectures(situation, knowledge, "message_gfx");
}

} // namespace rekindle::doctor
