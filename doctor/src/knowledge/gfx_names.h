#pragma once
/// Names of code targets: "gfx1100", "gfx90a:sramecc+:xnack-", "gfx10-3-generic", "sm_86",
/// "compute_90".

#include <string>
#include <string_view>

namespace rekindle::doctor {

/// The parts of a target; views into the text that it came from.
struct TargetName {
    std::string_view name; ///< without features
    char xnack = 0;        ///< '+', '-', or 0 where the target does not say
    char sramecc = 0;      ///< same as xnack
};
TargetName parse_target(std::string_view text) noexcept;

/// Whether one requires a feature that the other has with the opposite setting. A feature that a target
/// does not mention matches both settings.
bool features_contradict(const TargetName& one, const TargetName& other) noexcept;

/// KFD's gfx_target_version for a name: "gfx1010" → 100100, "gfx90a" → 90010 (major·10000 + minor·100 +
/// stepping, where the last two digits of the name are the hexadecimal minor version and stepping); 0 for
/// any other name.
int kfd_version_of(std::string_view gfx) noexcept;

/// Whether CUDA code for `code` runs on a device of `device` ("sm_86"). Machine code (sm_) runs on the same
/// major version with the same or a higher minor version; sm_90a and sm_120f kinds only on exactly their
/// device; PTX (compute_) on every device of its own version or newer. (CUDA C++ Programming Guide, "Binary
/// Compatibility" and "PTX Compatibility".)
bool cuda_code_runs_on(std::string_view code, std::string_view device) noexcept;

/// "8.6" for "sm_86", "12.0" for "sm_120"; "" when it has no digits.
std::string capability_of(std::string_view sm);

/// "10.3.0" for "gfx1030", "9.0.10" for "gfx90a": the form that HSA_OVERRIDE_GFX_VERSION takes. "" when it
/// is not a gfx name.
std::string override_of_gfx(std::string_view gfx);
/// "gfx1030" for "10.3.0", "" when it is not such a version.
std::string gfx_of_override(std::string_view value);

} // namespace rekindle::doctor
