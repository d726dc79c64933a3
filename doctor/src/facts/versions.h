#pragma once
/// Versions as the world writes them, and conditions on them.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// The numbers at the start of a version: "2.5.1+rocm6.2" → 2, 5, 1; "6.8.0-45-generic" → 6, 8, 0; "v3.10" →
/// 3, 10. Empty when it starts with no number.
std::vector<long> version_numbers(std::string_view version);

/// Compares component by component; a missing component is 0. Negative, 0 or positive.
int compare_versions(std::string_view left, std::string_view right);

/// Whether both agree in as many components as the shorter one has: "6.2" and "6.2.41133".
bool same_release(std::string_view left, std::string_view right);

/// "2.5.1+rocm6.2" → "2.5.1" and "rocm6.2".
struct TorchVersion {
    std::string release;
    std::string local;
};
TorchVersion torch_version(std::string_view text);

/// Whether `version` lies in `range`: comparisons (">=", "<=", ">", "<", "==", "!=") joined by commas, all of
/// which must hold: ">=2.6, <2.7". A bare version means "that one, however it goes on": "6.2" takes 6.2
/// and 6.2.4. No value when `version` or the range has no number.
std::optional<bool> version_in(std::string_view version, std::string_view range);

/// The same for decimal numbers: ">=0.5", "<64"; a bare number means equality.
std::optional<bool> number_in(double number, std::string_view range);

} // namespace rekindle::doctor
