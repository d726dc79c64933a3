#include "pipeline/live_code.h"

#include <algorithm>

namespace rekindle::runtime::spirv {

std::vector<Id> successors(const Block& block, const KnownValues& known) {
    const Instruction& end = block.end();
    switch (end.op()) {
    case Op::branch:
        return {end[1]};
    case Op::branch_conditional:
        if (const auto condition = known.number(end[1]))
            return {end[*condition != 0 ? 2 : 3]};
        return {end[2], end[3]};
    case Op::switch_: { // selector, default target, then pairs of a literal of 32 bits and a target
        const auto selector = known.number(end[1]);
        std::vector<Id> targets;
        for (std::size_t at = 3; at + 1 < end.words.size(); at += 2) {
            if (selector == end[at])
                return {end[at + 1]};
            targets.push_back(end[at + 1]);
        }
        if (selector)
            return {end[2]};
        targets.push_back(end[2]);
        return targets;
    }
    default:
        return {};
    }
}

LiveCode::LiveCode(const Module& module, KnownValues& known, Id entry) : module_(module), known_(known) {
    for (const Function& function : module_.functions)
        sources_.emplace(function.id(), &function);
    explore(entry);
}

/// SPIR-V has no recursion.
const LiveFunction& LiveCode::explore(Id id) {
    if (const auto done = functions_.find(id); done != functions_.end())
        return done->second;
    LiveFunction function;
    function.source = sources_.at(id);
    for (std::size_t i = 1; i < function.source->head.size(); ++i)
        known_.record(function.source->head[i][2], function.source->head[i][1], std::nullopt);
    for (const Block& block : function.source->blocks)
        function.blocks.emplace(block.label, &block);
    function.live.insert(function.source->blocks.front().label);
    bool again = true;
    while (again) {
        const std::size_t edges = function.edges.size(), changes = known_.changes();
        for (const Block& block : function.source->blocks)
            if (function.is_live(block.label))
                run_block(function, block);
        again = known_.changes() != changes || function.edges.size() != edges;
    }
    function.result = known_result(function);
    return functions_.emplace(id, std::move(function)).first->second;
}

void LiveCode::run_block(LiveFunction& function, const Block& block) {
    for (const Instruction& instruction : block.instructions)
        run(function, block, instruction);
    const Instruction& end = block.end();
    const bool undecided = (end.op() == Op::branch_conditional || end.op() == Op::switch_) &&
                           !known_.number(end[1]) && !known_.varies(end[1]);
    if (undecided)
        return;
    for (const Id target : successors(block, known_)) {
        function.edges.insert(LiveFunction::edge(block.label, target));
        function.live.insert(target);
    }
}

void LiveCode::run(LiveFunction& function, const Block& block, const Instruction& instruction) {
    if (instruction.op() == Op::function_call) {
        const LiveFunction& callee = explore(instruction[3]);
        known_.record(instruction[2], instruction[1], callee.result);
    } else if (instruction.op() == Op::phi) { // pairs of a value and the block that it comes from
        std::optional<Word> number;
        bool varies = false;
        for (std::size_t at = 3; at + 1 < instruction.words.size(); at += 2) {
            if (!function.has_edge(instruction[at + 1], block.label))
                continue;
            const auto one = known_.number(instruction[at]);
            varies = varies || known_.varies(instruction[at]) || (number && one && *number != *one);
            number = number ? number : one;
        }
        if (varies || number)
            known_.record(instruction[2], instruction[1], varies ? std::nullopt : number);
    } else {
        known_.evaluate(instruction);
    }
}

std::optional<Word> LiveCode::known_result(const LiveFunction& function) const {
    std::optional<Word> result;
    for (const Block& block : function.source->blocks) {
        if (!function.is_live(block.label))
            continue;
        for (const Instruction& instruction : block.instructions) {
            const Op op = instruction.op();
            if (op == Op::return_value) {
                const auto number = known_.number(instruction[1]);
                if (!number || (result && *result != *number))
                    return std::nullopt;
                result = number;
                continue;
            }
            const bool value = instruction.words.size() > 2 && known_.is_type(instruction[1]) &&
                               known_.number(instruction[2]).has_value();
            const bool flow = op == Op::branch || op == Op::branch_conditional || op == Op::switch_ ||
                              op == Op::selection_merge;
            if (!value && !flow)
                return std::nullopt;
        }
    }
    return result;
}

} // namespace rekindle::runtime::spirv
