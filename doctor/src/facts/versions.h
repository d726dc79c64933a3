#pragma once
/// Versions in the forms that occur in practice, and conditions on them.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// The numbers at the start of a version: "2.5.1+rocm6.2" → 2, 5, 1; "6.8.0-45-generic" → 6, 8, 0; "v3.10"
/// → 3, 10. Empty when it does not start with a number.
std::vector<long> version_numbers(std::string_view version);

/// Compares component by component; a missing component counts as 0. Returns a negative number, 0 or a
/// positive number.
int compare_versions(std::string_view left, std::string_view right);

/// Whether both agree in all components that the shorter one has: "6.2" and "6.2.41133".
bool same_release(std::string_view left, std::string_view right);

/// "2.5.1+rocm6.2" → "2.5.1" and "rocm6.2".
struct TorchVersion {
    std::string release;
    std::string local;
};
TorchVersion torch_version(std::string_view text);

/// Whether `version` is in `range`: comparisons (">=", "<=", ">", "<", "==", "!=") joined by commas, all of
/// which must hold: ">=2.6, <2.7". A bare version is a prefix: "6.2" matches 6.2 and 6.2.4. Returns no
/// value when `version` or the range has no number.
std::optional<bool> version_in(std::string_view version, std::string_view range);

/// The same for decimal numbers: ">=0.5", "<64"; a bare number means equality.
std::optional<bool> number_in(double number, std::string_view range);

} // namespace rekindle::doctor
