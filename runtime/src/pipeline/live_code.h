#pragma once
/// Which blocks of a SPIR-V module can run once its specialization constants have values: sparse conditional
/// constant propagation (Wegman and Zadeck 1991), within functions.

#include "pipeline/known_values.h"

#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace rekindle::runtime::spirv {

/// The part of a function that can run.
struct LiveFunction {
    const Function* source = nullptr;
    std::unordered_map<Id, const Block*> blocks; ///< all blocks, by label
    std::unordered_set<Id> live;                 ///< labels
    std::unordered_set<std::uint64_t> edges;     ///< live edges: edge()
    std::vector<Id> callees;
    /// The result, if it is known and the function does nothing else.
    std::optional<Word> result;

    static std::uint64_t edge(Id from, Id to) { return std::uint64_t{from} << 32 | to; }
    bool is_live(Id label) const { return live.contains(label); }
    bool has_edge(Id from, Id to) const { return edges.contains(edge(from, to)); }
};

/// The blocks that a block may continue with, given what is known.
std::vector<Id> successors(const Block& block, const KnownValues& known);

class LiveCode {
  public:
    /// Both must outlive the result.
    LiveCode(const Module& module, KnownValues& known, Id entry);

    /// The functions that the entry point calls, with itself, in no particular order.
    const std::unordered_map<Id, LiveFunction>& functions() const { return functions_; }

  private:
    const LiveFunction& explore(Id function);
    void run_block(LiveFunction& function, const Block& block);
    void run(LiveFunction& function, const Block& block, const Instruction& instruction);
    std::optional<Word> known_result(const LiveFunction& function) const;

    const Module& module_;
    KnownValues& known_;
    std::unordered_map<Id, const Function*> sources_;
    std::unordered_map<Id, LiveFunction> functions_;
};

} // namespace rekindle::runtime::spirv
