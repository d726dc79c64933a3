#include "targets.h"
#include "version.h"

#include <rekindle/doctor/review.h>

#include <fmt/format.h>

#include <algorithm>

namespace rekindle::doctor {
namespace {

bool is_cuda_target(std::string_view target) noexcept {
    return target.starts_with("sm_");
}

/// An override under which code for `contained` runs on the target: a safe one, else a risky one with its
/// warning.
std::string working_override(const GfxTarget& target, const std::vector<std::string>& contained,
                             const Knowledge& knowledge) {
    for (const std::string_view verdict : {"safe", "risky"})
        for (const GfxTarget::Override& known : target.overrides)
            if (known.verdict == verdict && knowledge.covers(contained, target_of_override(known.value)))
                return fmt::format("HSA_OVERRIDE_GFX_VERSION={} ({}: {})", known.value, known.verdict,
                                   known.reason);
    return "";
}

/// Why the override that people would try must not be used.
std::string warning_against(const GfxTarget& target, const std::vector<std::string>& contained,
                            const Knowledge& knowledge) {
    for (const GfxTarget::Override& known : target.overrides)
        if (known.verdict == "unsafe" && knowledge.covers(contained, target_of_override(known.value)))
            return fmt::format("HSA_OVERRIDE_GFX_VERSION={} is unsafe: {}", known.value, known.reason);
    return "";
}

/// "; built for Windows, but not tested by the vendor", or nothing.
std::string untested_remark(const WheelIndex& index, std::string_view gfx) {
    const bool on_linux = index.untested_on("linux", gfx), on_windows = index.untested_on("windows", gfx);
    if (!on_linux && !on_windows)
        return "";
    const std::string_view systems = !on_linux ? "Windows" : !on_windows ? "Linux" : "Linux and Windows";
    return fmt::format("; built for {}, but not tested by the vendor", systems);
}

MatrixRow row_of(const WheelIndex& index, const WheelIndex::Release& release, std::string_view gfx,
                 const Knowledge& knowledge) {
    MatrixRow row;
    row.torch = release.torch;
    row.index = index.id;
    row.url = index.url;
    row.python = release.python;
    row.note = index.note;
    row.checked = release.checked.empty() ? index.checked : release.checked;
    row.systems = index.systems;
    if (const TorchRelease* companions = knowledge.torch_release(release.torch)) {
        row.torchvision = companions->torchvision.empty() ? "" : companions->torchvision.front();
        row.torchaudio = companions->torchaudio.empty() ? "" : companions->torchaudio.front();
    }
    row.evidence = index.evidence;
    const GfxTarget* target = knowledge.gfx(gfx);
    if (gfx.empty())
        return row;
    const std::vector<std::string>& contained = release.targets.empty() ? index.targets : release.targets;
    row.contains = knowledge.covers(contained, gfx);
    std::erase_if(row.systems, [&](const std::string& system) { return !index.has_wheels_on(system, gfx); });
    if (row.contains && index.device_packages)
        row.note = fmt::format("pip install --index-url {} \"torch[device-{}]\"{}", index.url, gfx,
                               untested_remark(index, gfx));
    if (row.contains || target == nullptr)
        return row;
    row.by_override = working_override(*target, contained, knowledge);
    if (const std::string warning = warning_against(*target, contained, knowledge);
        row.by_override.empty() && !warning.empty())
        row.note = warning;
    if (!row.by_override.empty() || !row.note.empty())
        row.evidence.insert(row.evidence.end(), target->evidence.begin(), target->evidence.end());
    return row;
}

} // namespace

std::vector<MatrixRow> support_matrix(std::string_view gfx, const Knowledge& knowledge) {
    std::vector<MatrixRow> rows;
    for (const WheelIndex& index : knowledge.indexes) {
        if (!gfx.empty() && index.kind != (is_cuda_target(gfx) ? "cuda" : "rocm"))
            continue;
        for (const WheelIndex::Release& release : index.releases)
            rows.push_back(row_of(index, release, gfx, knowledge));
        if (index.releases.empty())
            rows.push_back(row_of(index, {}, gfx, knowledge));
    }
    const auto newer = [&](const MatrixRow& one, const MatrixRow& other) {
        if (const int order = compare_versions(one.torch, other.torch); order != 0)
            return order > 0;
        const WheelIndex* left = knowledge.index(one.index);
        const WheelIndex* right = knowledge.index(other.index);
        return compare_versions(left->rocm + left->cuda, right->rocm + right->cuda) > 0;
    };
    std::stable_sort(rows.begin(), rows.end(), newer);
    return rows;
}

} // namespace rekindle::doctor
