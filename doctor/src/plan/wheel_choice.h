#pragma once
/// Which torch to install: only combinations of version and index that are known to exist.

#include <rekindle/doctor/knowledge.h>

#include <optional>
#include <string>
#include <string_view>

namespace rekindle::doctor {

struct WheelChoice {
    const WheelIndex* index = nullptr;
    /// "2.9.1"; "" for an index of packages for each device, which chooses the version itself.
    std::string torch;
    std::string python; ///< Python version that the wheel exists for: the requested one where possible, else
                        ///< the newest; ""
};

/// The newest wheel from an official ROCm index with code for `gfx`, and not newer than the last ROCm that
/// still supports it.
std::optional<WheelChoice> rocm_wheel(const Knowledge& knowledge, std::string_view gfx,
                                      std::string_view python);
/// The newest official wheel with code for `pretended` that still supports a GPU of `target` under an
/// override.
std::optional<WheelChoice> rocm_wheel_for_override(const Knowledge& knowledge, const GfxTarget& target,
                                                   std::string_view pretended, std::string_view python);
/// An index with wheels for `system` ("linux" or "windows") whose code for `gfx` comes as a separate package
/// (`torch[device-gfx1010]`).
std::optional<WheelChoice> device_package_wheel(const Knowledge& knowledge, std::string_view gfx,
                                                std::string_view system);
/// The newest CUDA wheel with code for `sm` that runs on `driver`; either may be "" for unknown.
std::optional<WheelChoice> cuda_wheel(const Knowledge& knowledge, std::string_view sm,
                                      std::string_view driver, std::string_view python);

} // namespace rekindle::doctor
