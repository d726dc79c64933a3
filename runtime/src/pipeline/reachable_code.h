#pragma once
/// Finds the blocks of a SPIR-V module that can run with the values of its specialization constants, by
/// sparse conditional constant propagation (Wegman and Zadeck, TOPLAS 13, 1991) in each function.

#include "pipeline/known_values.h"

#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace rekindle::runtime::spirv {

/// The part of a function that a call can reach.
struct ReachableFunction {
    const Function* source = nullptr;
    std::unordered_map<Id, const Block*> blocks; ///< all blocks of the function, by label
    std::unordered_set<Id> labels;               ///< of the reachable blocks
    std::unordered_set<std::uint64_t> edges;     ///< branches that can be taken, as edge(from, to)
    /// What every call returns, if that is a constant and the function has no side effects: calls need not be
    /// made.
    std::optional<Word> constant_result;

    static std::uint64_t edge(Id from, Id to) { return std::uint64_t{from} << 32 | to; }
    bool is_reachable(Id label) const { return labels.contains(label); }
    bool has_edge(Id from, Id to) const { return edges.contains(edge(from, to)); }
};

/// The labels that the block's terminator can branch to; only one if its condition is a constant.
std::vector<Id> successors(const Block& block, const KnownValues& known);

class ReachableCode {
  public:
    /// Starts at the entry point's function. `module` and `known` must outlive the object; `known` receives
    /// the constants of all reachable functions.
    ReachableCode(const Module& module, KnownValues& known, Id entry);

    /// The entry point's function and all that it can call, by id.
    const std::unordered_map<Id, ReachableFunction>& functions() const { return functions_; }

  private:
    const ReachableFunction& analyze(Id function);
    void visit_block(ReachableFunction& function, const Block& block);
    void visit(ReachableFunction& function, const Block& block, const Instruction& instruction);
    std::optional<Word> find_constant_result(const ReachableFunction& function) const;

    const Module& module_;
    KnownValues& known_;
    std::unordered_map<Id, const Function*> sources_;
    std::unordered_map<Id, ReachableFunction> functions_;
};

} // namespace rekindle::runtime::spirv
