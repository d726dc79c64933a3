#pragma once
/// The struct of a family's specialization constants, which host code fills in by name.

#include "family.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rekindle::kernels::generator {

/// A constant of all modules of a family.
struct SharedConstant {
    std::string name;
    /// Its initial value in the modules; 0 if no code uses it; empty if the modules differ.
    std::optional<std::uint32_t> initial;
};

/// The constants of a family whose dtypes have these modules. Throws Refused if their names or order differ.
std::vector<SharedConstant> shared_constants(std::span<const Family* const> modules);

/// The definition of the struct `name` with the function list(). Constants with names such as slot0_weights,
/// slot0_inputs, slot1_weights, slot1_inputs are an array `slot` of a nested struct Slot; their numbers must
/// begin at 0, and all of them must have the same names in the same order. Throws Refused if the elements of
/// an array have different initial values.
std::string constants_struct(const std::string& name, std::span<const SharedConstant> constants);

/// "TiledMatmul" for "tiled_matmul".
std::string type_prefix(const std::string& name);

} // namespace rekindle::kernels::generator
