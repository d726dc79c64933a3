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
    Features needs; ///< for its shared memory, beyond the kernel's needs; set by checked_family()
};

/// The scope in which an audit file is read: a family compiled for one dtype. What the views refer to must
/// outlive it.
struct AuditScope {
    std::string_view family;                     ///< without the suffix of its dtype
    std::string_view dtype;                      ///< the meaning of the value `own`
    std::vector<std::string_view> kernels;       ///< of this dtype
    std::vector<std::string_view> other_kernels; ///< of the family's other dtypes: known, but not read
    std::span<const ReflectedConstant> constants;
};

/// Reads lines "kernel, kernel … | case | constant=value constant=value …": one case for each of the kernels.
/// A value is a number, or a name if the constant has an enumeration (values.h); `own` is the dtype that the
/// family computes in. '#' begins a comment line, empty lines are skipped. Throws Refused with the line's
/// number for a malformed line, an unknown kernel, constant or name, and a case that appears twice.
std::vector<Case> parse_audit(std::string_view text, const AuditScope& scope);

/// Reads an audit file. A family without constants needs none: each of its kernels then has one case without
/// values. Throws Refused when a family has constants and one of its kernels has no case.
std::vector<Case> read_audit(const std::filesystem::path& file, const AuditScope& scope);

} // namespace rekindle::kernels::generator
