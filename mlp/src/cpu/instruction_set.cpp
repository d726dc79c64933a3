#include "cpu/instruction_set.h"

#include <rekindle/foundation/error.h>

#include <array>
#include <cstdlib>
#include <string>

namespace rekindle::mlp {

std::string_view name(InstructionSet instructions) noexcept {
    switch (instructions) {
    case InstructionSet::x86_64:
        return "x86-64";
    case InstructionSet::x86_64_v3:
        return "x86-64-v3";
    case InstructionSet::x86_64_v4:
        return "x86-64-v4";
    }
    return "";
}

bool supported(InstructionSet instructions) noexcept {
    // Feature by feature, because the names of the levels are newer than g++ 11's runtime library.
    switch (instructions) {
    case InstructionSet::x86_64:
        return true;
    case InstructionSet::x86_64_v3:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
               __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    case InstructionSet::x86_64_v4:
        return supported(InstructionSet::x86_64_v3) && __builtin_cpu_supports("avx512f") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    }
    return false;
}

InstructionSet chosen_instruction_set() {
    constexpr std::array all{InstructionSet::x86_64_v4, InstructionSet::x86_64_v3, InstructionSet::x86_64};
    const char* requested = std::getenv("REKINDLE_ISA");
    for (const InstructionSet candidate : all) {
        if (requested == nullptr || *requested == '\0') {
            if (supported(candidate))
                return candidate;
        } else if (name(candidate) == requested) {
            if (!supported(candidate))
                throw usage_error("this CPU does not support " + std::string(requested)).at("REKINDLE_ISA");
            return candidate;
        }
    }
    throw usage_error("unknown instruction set '" + std::string(requested) + "'")
        .at("REKINDLE_ISA")
        .expected("x86-64, x86-64-v3 or x86-64-v4");
}

std::string_view instruction_set() {
    return name(chosen_instruction_set());
}

namespace cpu {

const KernelTable& kernels(InstructionSet instructions) {
    if (!supported(instructions))
        throw usage_error("this CPU does not support " + std::string(name(instructions)));
    switch (instructions) {
    case InstructionSet::x86_64_v4:
        return x86_64_v4::table;
    case InstructionSet::x86_64_v3:
        return x86_64_v3::table;
    case InstructionSet::x86_64:
        break;
    }
    return x86_64::table;
}

} // namespace cpu
} // namespace rekindle::mlp
