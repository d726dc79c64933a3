#pragma once
/// One module, that is, a family compiled for one dtype: slangc's output, the entries of the table and the
/// audit cases, after the generator has checked them.

#include "audit.h"
#include "module.h"
#include "reflection.h"
#include "table.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace rekindle::kernels::generator {

struct Family {
    std::string name; ///< of the module: "softmax_float64"
    Words module;     ///< stripped
    Reflection reflection;
    std::map<std::uint32_t, std::uint32_t> initial_values; ///< of the constants that the code uses, by id
    std::vector<TableEntry> entries; ///< in the table's order, with all features that they need
    std::vector<Case> cases;
};

/// Names of a module's kernels.
std::vector<std::string_view> kernel_names(std::span<const TableEntry> entries);

/// Assembles and checks a family, and adds to each entry and case the features that the module's code and its
/// shared memory need. Throws Refused
///  - on OpCopyLogical, naming the functions: Mesa 22.3 fails or crashes on it;
///  - when the module needs a feature other than 8-bit and 16-bit loads and stores that the table does not
///  name for the family, because a driver may reject the whole module, and when the table names one that the
///  module does not need;
///  - when a kernel needs more than 64 KiB of shared memory;
///  - when the module's entry points, their threads and the table differ.
Family checked_family(TableModule table, const Words& module, Reflection reflection, std::vector<Case> cases);

} // namespace rekindle::kernels::generator
