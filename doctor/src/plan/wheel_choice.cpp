#include "plan/wheel_choice.h"

#include "facts/versions.h"

#include <algorithm>

namespace rekindle::doctor {

namespace {

bool serves(const WheelIndex::Release& release, std::string_view python) {
    return python.empty() || release.python.empty() ||
           std::find(release.python.begin(), release.python.end(), python) != release.python.end();
}

/// Newest first by torch, then by ROCm or CUDA; wheels for the current Python before others.
bool better(const WheelChoice& candidate, bool fits, const std::optional<WheelChoice>& best, bool best_fits) {
    if (!best || fits != best_fits)
        return !best || fits;
    const int torch = compare_versions(candidate.torch, best->torch);
    if (torch != 0)
        return torch > 0;
    return compare_versions(candidate.index->rocm + candidate.index->cuda,
                            best->index->rocm + best->index->cuda) > 0;
}

template <class Accept>
std::optional<WheelChoice> newest(const Knowledge& knowledge, std::string_view kind, std::string_view python,
                                  Accept&& accept) {
    std::optional<WheelChoice> best;
    bool best_fits = false;
    for (const WheelIndex& index : knowledge.indexes) {
        if (index.kind != kind || index.device_packages || index.files_only)
            continue;
        for (const WheelIndex::Release& release : index.releases) {
            if (!accept(index, index.targets_of(release.torch)))
                continue;
            const bool fits = serves(release, python);
            const std::string with = fits ? std::string(python) : release.python.back();
            const WheelChoice candidate{&index, release.torch, with};
            if (better(candidate, fits, best, best_fits)) {
                best = candidate;
                best_fits = fits;
            }
        }
    }
    return best;
}

} // namespace

std::optional<WheelChoice> rocm_wheel(const Knowledge& knowledge, std::string_view gfx,
                                      std::string_view python) {
    const GfxTarget* target = knowledge.gfx(gfx);
    return target ? rocm_wheel_for_override(knowledge, *target, gfx, python) : std::nullopt;
}

std::optional<WheelChoice> rocm_wheel_for_override(const Knowledge& knowledge, const GfxTarget& target,
                                                   std::string_view pretended, std::string_view python) {
    const std::string& last = target.last_rocm;
    return newest(knowledge, "rocm", python,
                  [&](const WheelIndex& index, const std::vector<std::string>& targets) {
                      const bool still_served = last.empty() || compare_versions(index.rocm, last) <= 0 ||
                                                same_release(index.rocm, last);
                      return still_served && knowledge.covers(targets, pretended);
                  });
}

std::optional<WheelChoice> device_package_wheel(const Knowledge& knowledge, std::string_view gfx,
                                                std::string_view system) {
    for (const WheelIndex& index : knowledge.indexes)
        if (index.kind == "rocm" && index.device_packages && knowledge.covers(index.targets, gfx) &&
            index.has_wheels_on(system, gfx))
            return WheelChoice{&index, "", ""};
    return std::nullopt;
}

std::optional<WheelChoice> cuda_wheel(const Knowledge& knowledge, std::string_view sm,
                                      std::string_view driver, std::string_view python) {
    return newest(knowledge, "cuda", python,
                  [&](const WheelIndex& index, const std::vector<std::string>& targets) {
                      const bool driver_fits = driver.empty() || index.minimum_driver.empty() ||
                                               compare_versions(driver, index.minimum_driver) >= 0;
                      return driver_fits && (sm.empty() || knowledge.covers(targets, sm));
                  });
}

} // namespace rekindle::doctor
