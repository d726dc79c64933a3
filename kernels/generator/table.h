#pragma once
/// kernels/kernels.json: every kernel, as data.

#include <rekindle/kernels/kernel.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rekindle::kernels::generator {

/// One entry point of one module: a kernel of the table, with a variant's values, for one dtype.
struct TableEntry {
    std::string module; ///< the family with the suffix of its dtype: "softmax_float64"
    std::string family; ///< "softmax"
    std::string dtype;  ///< that the module computes in: "float64"
    std::string name, brief, body;
    std::uint32_t threads = 0;
    /// The features that the table names, and those of the dtype and of the matrix units. checked_family()
    /// adds those that the module's code and shared memory need.
    Features needs;
    std::string variants; ///< what the variants of the kernel have in common: "product_units"; empty: none
    std::vector<std::pair<std::string, std::uint32_t>> numbers; ///< of the variant, in the table's order
    Features unit;                                              ///< of the variant: the shape of matrix units
};

/// A family compiled for one dtype.
struct TableModule {
    std::string name;   ///< "softmax_float64"
    std::string family; ///< "softmax"
    std::string source; ///< relative to kernels/: "normalization/softmax.slang"
    std::string dtype;
    Features needs;                  ///< that all of its kernels have
    std::vector<TableEntry> entries; ///< in the table's order
};

/// Reads the table; its form is described in kernels/README.md. The modules are in the table's order. Throws
/// Refused if the text is not JSON, a key is unknown or missing, a variant has no value for a {key}, a dtype
/// or feature is unknown, or a name appears twice. The message names the family and the kernel.
std::vector<TableModule> parse_table(std::string_view json);
std::vector<TableModule> read_table(const std::filesystem::path& file);

/// The suffix of a dtype that is not a family's first: "_float64".
std::string suffix_of(std::string_view dtype);

/// The Slang file that slangc compiles to a module: it includes the family's file and defines the entry
/// points.
std::string module_source(const TableModule& module);

} // namespace rekindle::kernels::generator
