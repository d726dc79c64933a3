#pragma once
/// Which torch to install: only pairs of version and index that are known to exist.

#include <rekindle/doctor/knowledge.h>

#include <optional>
#include <string>
#include <string_view>

namespace rekindle::doctor {

struct WheelChoice {
    const WheelIndex* index = nullptr;
    std::string torch; ///< "2.9.1"; "" for an index of packages for each device, which chooses itself
    std::string
        python; ///< Python that the wheel exists for: the one asked for where possible, else the newest; ""
};

/// The newest wheel of an official ROCm index with code for `gfx`, and no newer than the last ROCm that still
/// serves it.
std::optional<WheelChoice> rocm_wheel(const Knowledge& knowledge, std::string_view gfx,
                                      std::string_view python);
/// The newest official wheel with code for `pretended` that still serves a card of `target` under an
/// override.
std::optional<WheelChoice> rocm_wheel_for_override(const Knowledge& knowledge, const GfxTarget& target,
                                                   std::string_view pretended, std::string_view python);
/// An index whose code for `gfx` comes as a package of its own (`torch[device-gfx1010]`).
std::optional<WheelChoice> device_package_wheel(const Knowledge& knowledge, std::string_view gfx);
/// The newest CUDA wheel with code for `sm` that runs on `driver`; either may be "" for not known.
std::optional<WheelChoice> cuda_wheel(const Knowledge& knowledge, std::string_view sm,
                                      std::string_view driver, std::string_view python);

} // namespace rekindle::doctor
