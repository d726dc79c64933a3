#pragma once
/// The instructions of a SPIR-V module, one after the other (SPIR-V 1.5 specification, section 2.3).

#include "module.h"

#include <cstdint>
#include <span>
#include <string>

namespace rekindle::kernels::generator {

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
