#include "pipeline/reachable_code.h"

#include <algorithm>

namespace rekindle::runtime::spirv {

std::vector<Id> successors(const Block& block, const KnownValues& known) {
    const Instruction& terminator = block.terminator();
    switch (terminator.op()) {
    case Op::branch:
        return {terminator[1]};
    case Op::branch_conditional:
        if (const auto condition = known.number(terminator[1]))
            return {terminator[*condition != 0 ? 2 : 3]};
        return {terminator[2], terminator[3]};
    case Op::switch_: { // operands: selector, default target, pairs of a 32-bit literal and a target
        const auto selector = known.number(terminator[1]);
        std::vector<Id> targets;
        for (std::size_t at = 3; at + 1 < terminator.words.size(); at += 2) {
            if (selector == terminator[at])
                return {terminator[at + 1]};
            targets.push_back(terminator[at + 1]);
        }
        if (selector)
            return {terminator[2]};
        targets.push_back(terminator[2]);
        return targets;
    }
    default:
        return {};
    }
}

ReachableCode::ReachableCode(const Module& module, KnownValues& known, Id entry)
    : module_(module), known_(known) {
    for (const Function& function : module_.functions)
        sources_.emplace(function.id(), &function);
    analyze(entry);
}

/// Calls itself for callees; SPIR-V forbids recursion, so this ends.
const ReachableFunction& ReachableCode::analyze(Id id) {
    if (const auto done = functions_.find(id); done != functions_.end())
        return done->second;
    ReachableFunction function;
    function.source = sources_.at(id);
    for (std::size_t i = 1; i < function.source->head.size(); ++i)
        known_.record(function.source->head[i][2], function.source->head[i][1], std::nullopt);
    for (const Block& block : function.source->blocks)
        function.blocks.emplace(block.label, &block);
    function.labels.insert(function.source->blocks.front().label);
    bool again = true;
    while (again) {
        const std::size_t edges = function.edges.size(), changes = known_.changes();
        for (const Block& block : function.source->blocks)
            if (function.is_reachable(block.label))
                visit_block(function, block);
        again = known_.changes() != changes || function.edges.size() != edges;
    }
    function.constant_result = find_constant_result(function);
    return functions_.emplace(id, std::move(function)).first->second;
}

void ReachableCode::visit_block(ReachableFunction& function, const Block& block) {
    for (const Instruction& instruction : block.instructions)
        visit(function, block, instruction);
    const Instruction& terminator = block.terminator();
    const bool undecided = (terminator.op() == Op::branch_conditional || terminator.op() == Op::switch_) &&
                           !known_.number(terminator[1]) && !known_.varies(terminator[1]);
    if (undecided)
        return;
    for (const Id target : successors(block, known_)) {
        function.edges.insert(ReachableFunction::edge(block.label, target));
        function.labels.insert(target);
    }
}

void ReachableCode::visit(ReachableFunction& function, const Block& block, const Instruction& instruction) {
    if (instruction.op() == Op::function_call) {
        const ReachableFunction& callee = analyze(instruction[3]);
        known_.record(instruction[2], instruction[1], callee.constant_result);
    } else if (instruction.op() == Op::phi) { // operands: pairs of a value and the block it comes from
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

std::optional<Word> ReachableCode::find_constant_result(const ReachableFunction& function) const {
    std::optional<Word> result;
    for (const Block& block : function.source->blocks) {
        if (!function.is_reachable(block.label))
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
            const bool flow = op == Op::branch || op == Op::branch_conditional || op == Op::switch_ ||
                              op == Op::selection_merge;
            if (!known_.is_constant(instruction) && !flow)
                return std::nullopt;
        }
    }
    return result;
}

} // namespace rekindle::runtime::spirv
