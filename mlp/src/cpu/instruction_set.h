#pragma once
/// The kernel table of an instruction set.

#include "cpu/kernels.h"

#include <rekindle/mlp/engine.h>

namespace rekindle::mlp::cpu {

/// Throws Error (usage) when this CPU lacks the instruction set.
const KernelTable& kernels(InstructionSet instructions);

} // namespace rekindle::mlp::cpu
