#pragma once
/// Folds the constants of a SPIR-V module whose specialization constants have their final values.

#include "pipeline/spirv.h"

#include <optional>

namespace rekindle::runtime::spirv {

/// Records for each result id whether it is a constant, and which one. The state of an id only moves from
/// unknown to constant to varying, so that constant propagation ends. Only Booleans and 32-bit integers
/// become constants.
class KnownValues {
  public:
    explicit KnownValues(const Module& module);

    /// The constant, with 0 for false and 1 for true; nothing if the id is unknown or varying.
    std::optional<Word> number(Id id) const;
    bool varies(Id id) const { return values_[id].state == State::varying; }
    /// Folds an instruction of a function and records its result. OpFunctionCall and OpPhi depend on more
    /// than their operands: their callers use record().
    void evaluate(const Instruction& instruction);
    /// Records that an id is this constant, or varying if there is none. An id that already is a different
    /// constant becomes varying.
    void record(Id id, Id type, std::optional<Word> number);
    /// True if the instruction has a type and a result: only then is its first operand a type.
    bool has_result(const Instruction& instruction) const {
        return instruction.words.size() > 2 && instruction[1] < kinds_.size() &&
               kinds_[instruction[1]] != Kind::none;
    }
    /// True if the instruction's result is a constant.
    bool is_constant(const Instruction& instruction) const {
        return has_result(instruction) && number(instruction[2]).has_value();
    }
    /// Counts changes of state; constant propagation repeats until a pass makes none.
    std::size_t changes() const { return changes_; }

    /// Appends the declaration of the constant `id`.
    void append_constant(std::vector<Word>& to, Id type, Id id) const;

  private:
    enum class State : std::uint8_t { unknown, constant, varying };
    enum class Kind : std::uint8_t { none, other, boolean, integer32 };
    struct Value {
        State state = State::unknown;
        Word number = 0;
    };

    void read_global(const Instruction& instruction);
    std::optional<Word> folded(Op op, std::span<const Word> operands) const;
    std::optional<Word> decided_by_one(Op op, std::span<const Word> operands) const;
    bool none_unknown(std::span<const Word> operands) const;

    std::vector<Value> values_;
    std::vector<Kind> kinds_;
    std::size_t changes_ = 0;
};

} // namespace rekindle::runtime::spirv
