#pragma once
/// kernels/audit/<family>.txt: the sets of specialization constants that the host can choose.

#include "reflection.h"

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::kernels::generator {

struct Case {
    std::string kernel, name;
    std::vector<std::pair<std::string, std::uint32_t>> constants;
    Features needs; ///< beyond the kernel's
};

/// Reads lines "kernel | case | constant=value constant=value …", in which names of features (shared_48k) may
/// appear that the case needs beyond the kernel's; '#' begins a comment line, empty lines are skipped. Throws
/// Refused with the line's number for a malformed line, an unknown kernel, constant or feature, and a case
/// that appears twice.
std::vector<Case> parse_audit(std::string_view text, std::span<const std::string_view> kernels,
                              std::span<const ReflectedConstant> constants);

/// Reads the same from a file. A family without constants needs no file: each kernel then has one case
/// without values. Throws Refused when a family has constants and one of its kernels has no case.
std::vector<Case> read_audit(const std::filesystem::path& file, std::span<const std::string_view> kernels,
                             std::span<const ReflectedConstant> constants);

} // namespace rekindle::kernels::generator
