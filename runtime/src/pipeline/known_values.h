#pragma once
/// What is known about the values of a SPIR-V module once its specialization constants have values.

#include "pipeline/spirv.h"

#include <optional>

namespace rekindle::runtime::spirv {

/// Booleans and 32-bit integers whose values are known. A value is not computed yet, known, or varying, and
/// only moves in that order.
class KnownValues {
  public:
    explicit KnownValues(const Module& module);

    /// The number, or 0 and 1 for false and true.
    std::optional<Word> number(Id id) const;
    bool varies(Id id) const { return values_[id].state == State::varying; }
    /// Records the result of an instruction of a function, other than a call or OpPhi, from what is known of
    /// its operands.
    void evaluate(const Instruction& instruction);
    /// No number: the value varies. So does one that was known to be another number.
    void record(Id id, Id type, std::optional<Word> number);
    /// True if ids of this type are types of values; no other first operand of an instruction is one.
    bool is_type(Id id) const { return id < kinds_.size() && kinds_[id] != Kind::none; }
    /// How often something new became known.
    std::size_t changes() const { return changes_; }

    /// The constant as an instruction of the global section.
    void append_constant(std::vector<Word>& to, Id type, Id id) const;

  private:
    enum class State : std::uint8_t { open, known, varying };
    enum class Kind : std::uint8_t { none, other, boolean, word };
    struct Value {
        State state = State::open;
        Word number = 0;
    };

    void read_global(const Instruction& instruction);
    std::optional<Word> computed(Op op, std::span<const Word> operands) const;
    std::optional<Word> one_decides(Op op, std::span<const Word> operands) const;
    bool all_settled(std::span<const Word> operands) const;

    std::vector<Value> values_;
    std::vector<Kind> kinds_;
    std::size_t changes_ = 0;
};

} // namespace rekindle::runtime::spirv
