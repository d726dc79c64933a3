#pragma once
/// The instructions of a SPIR-V module, one after the other (SPIR-V 1.5 specification, section 2.3).

#include "module.h"

#include <cstdint>
#include <span>
#include <string>

namespace rekindle::kernels::generator {

/// Opcodes from the SPIR-V specification, section 3.49.
enum Operation : std::uint16_t {
    op_source_continued = 2,
    op_source = 3,
    op_source_extension = 4,
    op_name = 5,
    op_member_name = 6,
    op_string = 7,
    op_line = 8,
    op_entry_point = 15,
    op_capability = 17,
    op_type_bool = 20,
    op_type_int = 21,
    op_type_float = 22,
    op_type_vector = 23,
    op_type_array = 28,
    op_type_struct = 30,
    op_type_pointer = 32,
    op_constant = 43,
    op_spec_constant_true = 48,
    op_spec_constant_false = 49,
    op_spec_constant = 50,
    op_spec_constant_op = 52,
    op_function = 54,
    op_variable = 59,
    op_decorate = 71,
    op_i_add = 128,
    op_no_line = 317,
    op_module_processed = 330,
    op_copy_logical = 400,
};
inline constexpr std::uint32_t decoration_spec_id = 1;

struct Instruction {
    std::uint16_t operation;
    std::span<const std::uint32_t> words; ///< including the first, which holds the length and the opcode
};

inline constexpr std::size_t module_header_words = 5;

/// Calls f(Instruction) for each one. Throws Refused for one that extends past the end.
template <class F>
void for_each_instruction(std::span<const std::uint32_t> module, F&& f) {
    for (std::size_t at = module_header_words; at < module.size();) {
        const std::size_t length = module[at] >> 16;
        if (length == 0 || length > module.size() - at)
            throw Refused("the instruction at word " + std::to_string(at) +
                          " extends past the end of the module");
        f(Instruction{static_cast<std::uint16_t>(module[at] & 0xffff), module.subspan(at, length)});
        at += length;
    }
}

/// A literal string of an instruction (little endian, zero-terminated). Throws Refused if it does not end.
std::string literal(std::span<const std::uint32_t> words);

/// Throws Refused if the instruction has fewer words.
void need_words(const Instruction& instruction, std::size_t count);

} // namespace rekindle::kernels::generator
