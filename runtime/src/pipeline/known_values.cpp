#include "pipeline/known_values.h"

#include <algorithm>

namespace rekindle::runtime::spirv {

namespace {

constexpr Word first_type = 19, last_type = 39, op_type_matrix_khr = 4456;

bool is_type_declaration(Op op) {
    const auto number = static_cast<Word>(op);
    return (number >= first_type && number <= last_type) || number == op_type_matrix_khr;
}

/// True for operations that folded() may handle. All their operands are ids, with no literals among them.
bool is_foldable(Op op) {
    const auto number = static_cast<Word>(op);
    return op == Op::bitcast || op == Op::bitwise_not ||
           (number >= static_cast<Word>(Op::i_add) && number <= static_cast<Word>(Op::s_rem)) ||
           (number >= static_cast<Word>(Op::logical_equal) &&
            number <= static_cast<Word>(Op::s_less_equal)) ||
           (number >= static_cast<Word>(Op::shift_right) && number <= static_cast<Word>(Op::bitwise_and));
}

std::int32_t as_signed(Word number) {
    return static_cast<std::int32_t>(number);
}

/// Returns nothing where the specification leaves the result undefined, and for operations it does not fold.
std::optional<Word> folded_pair(Op op, Word a, Word b) {
    const std::int32_t x = as_signed(a), y = as_signed(b);
    switch (op) {
    case Op::i_add:
        return a + b;
    case Op::i_sub:
        return a - b;
    case Op::i_mul:
        return a * b;
    case Op::u_div:
        return b == 0 ? std::nullopt : std::optional(a / b);
    case Op::u_mod:
        return b == 0 ? std::nullopt : std::optional(a % b);
    case Op::logical_equal:
    case Op::i_equal:
        return a == b;
    case Op::logical_not_equal:
    case Op::i_not_equal:
        return a != b;
    case Op::logical_or:
        return a | b;
    case Op::logical_and:
        return a & b;
    case Op::u_greater:
        return a > b;
    case Op::s_greater:
        return x > y;
    case Op::u_greater_equal:
        return a >= b;
    case Op::s_greater_equal:
        return x >= y;
    case Op::u_less:
        return a < b;
    case Op::s_less:
        return x < y;
    case Op::u_less_equal:
        return a <= b;
    case Op::s_less_equal:
        return x <= y;
    case Op::shift_right:
        return b >= 32 ? std::nullopt : std::optional(a >> b);
    case Op::shift_left:
        return b >= 32 ? std::nullopt : std::optional(a << b);
    case Op::bitwise_or:
        return a | b;
    case Op::bitwise_xor:
        return a ^ b;
    case Op::bitwise_and:
        return a & b;
    default:
        return std::nullopt;
    }
}

} // namespace

KnownValues::KnownValues(const Module& module)
    : values_(module.header[bound_word]), kinds_(module.header[bound_word], Kind::none) {
    for (const Instruction& instruction : module.globals)
        read_global(instruction);
}

void KnownValues::read_global(const Instruction& instruction) {
    const Op op = instruction.op();
    if (is_type_declaration(op)) {
        const bool word = op == Op::type_int && instruction[2] == 32;
        kinds_[instruction[1]] = op == Op::type_bool ? Kind::boolean : word ? Kind::integer32 : Kind::other;
    } else if (op == Op::constant_true || op == Op::constant_false) {
        record(instruction[2], instruction[1], op == Op::constant_true ? 1 : 0);
    } else if (op == Op::constant || op == Op::spec_constant) {
        record(instruction[2], instruction[1], instruction[3]);
    } else if (op == Op::spec_constant_op) {
        record(instruction[2], instruction[1],
               folded(static_cast<Op>(instruction[3]), instruction.words.subspan(4)));
    } else if (has_result(instruction)) {
        record(instruction[2], instruction[1], std::nullopt);
    }
}

std::optional<Word> KnownValues::number(Id id) const {
    return values_[id].state == State::constant ? std::optional(values_[id].number) : std::nullopt;
}

void KnownValues::record(Id id, Id type, std::optional<Word> number) {
    Value& value = values_[id];
    const bool kept = number && (kinds_[type] == Kind::boolean || kinds_[type] == Kind::integer32);
    const bool differs = value.state == State::constant && kept && value.number != *number;
    const State state = kept && !differs ? State::constant : State::varying;
    if (value.state >= state)
        return;
    value = {state, kept ? *number : 0};
    ++changes_;
}

bool KnownValues::none_unknown(std::span<const Word> operands) const {
    return std::ranges::none_of(operands, [&](Id id) { return values_[id].state == State::unknown; });
}

std::optional<Word> KnownValues::decided_by_one(Op op, std::span<const Word> operands) const {
    const Word decisive = op == Op::logical_or ? 1 : 0;
    const bool decided = (op == Op::logical_or || op == Op::logical_and) &&
                         (number(operands[0]) == decisive || number(operands[1]) == decisive);
    return decided ? std::optional(decisive) : std::nullopt;
}

std::optional<Word> KnownValues::folded(Op op, std::span<const Word> operands) const {
    if (operands.size() == 2) {
        if (const auto decided = decided_by_one(op, operands))
            return decided;
        const auto a = number(operands[0]), b = number(operands[1]);
        return a && b ? folded_pair(op, *a, *b) : std::nullopt;
    }
    if (op == Op::select && operands.size() == 3) {
        const auto condition = number(operands[0]);
        return condition ? number(operands[*condition != 0 ? 1 : 2]) : std::nullopt;
    }
    if (operands.size() != 1)
        return std::nullopt;
    const auto only = number(operands[0]);
    if (op == Op::logical_not && only)
        return *only == 0 ? 1 : 0;
    if (op == Op::bitwise_not && only)
        return ~*only;
    // OpBitcast between signed and unsigned integers; operands of other types are never constants.
    return op == Op::bitcast ? only : std::nullopt;
}

void KnownValues::evaluate(const Instruction& instruction) {
    if (!has_result(instruction) || varies(instruction[2]))
        return;
    const auto operands = instruction.words.subspan(3);
    if (!is_foldable(instruction.op())) {
        record(instruction[2], instruction[1], std::nullopt);
        return;
    }
    const auto result = folded(instruction.op(), operands);
    if (result || none_unknown(operands))
        record(instruction[2], instruction[1], result);
}

void KnownValues::append_constant(std::vector<Word>& to, Id type, Id id) const {
    const Word number = values_[id].number;
    if (kinds_[type] == Kind::boolean)
        append(to, number != 0 ? Op::constant_true : Op::constant_false, {type, id});
    else
        append(to, Op::constant, {type, id, number});
}

} // namespace rekindle::runtime::spirv
