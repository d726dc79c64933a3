#pragma once
/// Splits a SPIR-V module into functions, blocks and instructions. The operation codes come from the SPIR-V
/// specification, version 1.6, section 3.

#include <cstdint>
#include <span>
#include <vector>

namespace rekindle::runtime::spirv {

using Word = std::uint32_t;
using Id = std::uint32_t;

constexpr std::size_t header_words = 5, bound_word = 3;

/// Only the operations that specialization handles; an instruction may have any other code.
enum class Op : std::uint16_t {
    undef = 1,
    entry_point = 15,
    execution_mode = 16,
    type_bool = 20,
    type_int = 21,
    constant_true = 41,
    constant_false = 42,
    constant = 43,
    spec_constant = 50,
    spec_constant_op = 52,
    function = 54,
    function_parameter = 55,
    function_end = 56,
    function_call = 57,
    decorate = 71,
    bitcast = 124,
    i_add = 128,
    i_sub = 130,
    i_mul = 132,
    u_div = 134,
    s_div = 135,
    u_mod = 137,
    s_rem = 138,
    logical_equal = 164,
    logical_not_equal = 165,
    logical_or = 166,
    logical_and = 167,
    logical_not = 168,
    select = 169,
    i_equal = 170,
    i_not_equal = 171,
    u_greater = 172,
    s_greater = 173,
    u_greater_equal = 174,
    s_greater_equal = 175,
    u_less = 176,
    s_less = 177,
    u_less_equal = 178,
    s_less_equal = 179,
    shift_right = 194,
    shift_right_signed = 195,
    shift_left = 196,
    bitwise_or = 197,
    bitwise_xor = 198,
    bitwise_and = 199,
    bitwise_not = 200,
    phi = 245,
    loop_merge = 246,
    selection_merge = 247,
    label = 248,
    branch = 249,
    branch_conditional = 250,
    switch_ = 251,
    return_ = 253,
    return_value = 254,
    unreachable = 255,
    execution_mode_id = 331,
};
constexpr Word decoration_spec_id = 1;

/// A view of one instruction in a module's words. The first word holds the length in words and the operation
/// code.
struct Instruction {
    std::span<const Word> words;

    Op op() const { return static_cast<Op>(words[0] & 0xffff); }
    Word operator[](std::size_t at) const { return words[at]; }
};

struct Block {
    Id label = 0;
    std::vector<Instruction> instructions; ///< after the label; the last one is the terminator
    Id merge = 0;           ///< merge block that its OpSelectionMerge or OpLoopMerge names; 0 if it has none
    Id continue_target = 0; ///< the one that its OpLoopMerge names; 0 if it has none

    const Instruction& terminator() const { return instructions.back(); }
    bool is_loop_header() const { return continue_target != 0; }
};

struct Function {
    std::vector<Instruction> head; ///< OpFunction and OpFunctionParameter
    std::vector<Block> blocks;     ///< the first one is the entry block

    Id id() const { return head.front()[2]; }
};

/// A parsed module. Refers to the words that it was made from, which must be valid SPIR-V.
struct Module {
    explicit Module(std::span<const Word> words);

    std::span<const Word> header;
    std::vector<Instruction> globals; ///< everything before the first function
    std::vector<Function> functions;
};

/// Appends an instruction to a module's words.
void append(std::vector<Word>& to, Op op, std::initializer_list<Word> operands);
void append(std::vector<Word>& to, const Instruction& instruction);

} // namespace rekindle::runtime::spirv
