#pragma once
/// Version numbers as ROCm, CUDA, torch and drivers write them.

#include <string>
#include <string_view>

namespace rekindle::doctor {

/// Compares component by component as numbers: "6.2.4" > "6.2", "7.14" > "7.2". The comparison ends where a version
/// stops being digits and dots ("7.0.0rc2" is "7.0.0"). Negative, 0 or positive.
int compare_versions(std::string_view left, std::string_view right);

/// Whether both agree in as many components as the shorter one has: "6.2" and "6.2.41133".
bool same_release(std::string_view left, std::string_view right);

/// "2.5.1+rocm6.2" → "2.5.1" and "rocm6.2".
struct TorchVersion {
    std::string release;
    std::string local;
};
TorchVersion torch_version(std::string_view text);

} // namespace rekindle::doctor
