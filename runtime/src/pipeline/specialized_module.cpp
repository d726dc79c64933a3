#include "pipeline/specialized_module.h"

#include "pipeline/reachable_code.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string_view>

namespace rekindle::runtime {

namespace {

using namespace spirv;

/// Copies the module and replaces the initial value of each specialization constant by the given one.
std::vector<Word> with_values(const kernels::Kernel& kernel, std::span<const std::uint32_t> values) {
    std::vector<Word> words(kernel.module.begin(), kernel.module.end());
    std::unordered_map<Id, Word> given;
    for (std::size_t at = header_words; at < words.size(); at += words[at] >> 16) {
        const auto op = static_cast<Op>(words[at] & 0xffff);
        if (op == Op::decorate && words[at + 2] == decoration_spec_id) {
            const auto constant =
                std::ranges::find(kernel.constants, words[at + 3], &kernels::SpecializationConstant::id);
            if (constant != kernel.constants.end())
                given[words[at + 1]] = values[static_cast<std::size_t>(constant - kernel.constants.begin())];
        } else if (op == Op::spec_constant) {
            if (const auto value = given.find(words[at + 2]); value != given.end())
                words[at + 3] = value->second;
        } else if (op == Op::function) {
            break;
        }
    }
    return words;
}

/// SPIR-V stores strings zero-terminated with the first byte in the lowest bits, which on a little-endian
/// host is how a C string lies in memory.
static_assert(std::endian::native == std::endian::little);
std::string_view name_of(const Instruction& entry_point) {
    return reinterpret_cast<const char*>(&entry_point.words[3]);
}

const Instruction& entry_point_of(const Module& module, std::string_view name) {
    return *std::ranges::find_if(module.globals, [&](const Instruction& instruction) {
        return instruction.op() == Op::entry_point && name_of(instruction) == name;
    });
}

/// A switch with only a default target. slangc writes one around the body of every loop, for `continue`.
bool has_one_target(const Instruction& terminator) {
    return terminator.op() == Op::switch_ && terminator.words.size() == 3;
}

/// Finds the selections that need no OpSelectionMerge because only one of their branches can be taken. A
/// selection must keep it if a nested construct branches to its merge block, as `break` in an `if` in a
/// `switch` does: SPIR-V allows that only to the merge block of a switch or a loop. Switches with one target
/// keep it, too: without them, NVIDIA's driver 580 makes products of 128 x 128 tiles 12 % slower, and the
/// backward pass of attention 16 %.
class UnneededMerges {
  public:
    UnneededMerges(const ReachableFunction& function, const KnownValues& known)
        : function_(function), known_(known) {
        // Inner constructs come first in reverse order, because a header precedes the blocks of its
        // construct.
        for (auto block = function.source->blocks.rbegin(); block != function.source->blocks.rend(); ++block)
            if (function.is_reachable(block->label) && block->merge != 0 && !block->is_loop_header() &&
                successors(*block, known).size() == 1 && !has_one_target(block->terminator()) &&
                !has_nested_exit(*block))
                headers_.insert(block->label);
    }

    /// True for the header of such a selection.
    bool contains(const Block& block) const { return headers_.contains(block.label); }

  private:
    bool is_header(const Block& block) const { return block.merge != 0 && !contains(block); }

    /// Follows all paths from the header to its merge block. May return true without need, if a path leaves
    /// the construct and comes back to it through an enclosing loop.
    bool has_nested_exit(const Block& header) const {
        std::unordered_set<Id> seen{header.label, header.merge};
        std::vector<Id> left = successors(header, known_);
        while (!left.empty()) {
            const Id label = left.back();
            left.pop_back();
            if (!seen.insert(label).second)
                continue;
            const Block& block = *function_.blocks.at(label);
            if (is_header(block)) {
                if (construct_reaches(block, header.merge))
                    return true;
                left.push_back(block.merge);
                continue;
            }
            const std::vector<Id> next = successors(block, known_);
            if (next.size() > 1 && std::ranges::find(next, header.merge) != next.end())
                return true;
            left.insert(left.end(), next.begin(), next.end());
        }
        return false;
    }

    /// True if a path from the header leads to the target without passing the header's own merge block.
    bool construct_reaches(const Block& header, Id target) const {
        std::unordered_set<Id> seen{header.merge};
        std::vector<Id> left{header.label};
        while (!left.empty()) {
            const Id label = left.back();
            left.pop_back();
            if (label == target)
                return true;
            if (!seen.insert(label).second)
                continue;
            const std::vector<Id> next = successors(*function_.blocks.at(label), known_);
            left.insert(left.end(), next.begin(), next.end());
        }
        return false;
    }

    const ReachableFunction& function_;
    const KnownValues& known_;
    std::unordered_set<Id> headers_; ///< labels
};

/// Writes the reachable blocks of the reachable functions, and the global section that they need.
class Writer {
  public:
    Writer(const Module& module, const KnownValues& known, const ReachableCode& code,
           const Instruction& entry)
        : module_(module), known_(known), code_(code), entry_(entry), bound_(module.header[bound_word]) {}

    std::vector<Word> write() {
        for (const Function& function : module_.functions) {
            const auto live = code_.functions().find(function.id());
            if (live != code_.functions().end() && !live->second.constant_result)
                write_function(live->second);
        }
        std::vector<Word> result(module_.header.begin(), module_.header.end());
        result[bound_word] = bound_;
        for (const Instruction& instruction : module_.globals)
            write_global(result, instruction);
        result.insert(result.end(), new_globals_.begin(), new_globals_.end());
        result.insert(result.end(), functions_.begin(), functions_.end());
        return result;
    }

  private:
    void write_global(std::vector<Word>& to, const Instruction& instruction) const {
        const Op op = instruction.op();
        if (op == Op::entry_point && instruction.words.data() != entry_.words.data())
            return;
        if ((op == Op::execution_mode || op == Op::execution_mode_id) && instruction[1] != entry_[2])
            return;
        if (op == Op::decorate && (instruction[2] == decoration_spec_id || !exists(instruction[1])))
            return;
        const bool folded = op == Op::spec_constant || op == Op::spec_constant_op;
        if (folded && known_.is_constant(instruction))
            known_.append_constant(to, instruction[1], instruction[2]);
        else
            append(to, instruction);
    }

    /// False if the id is the result of an instruction that was left out.
    bool exists(Id id) const { return !in_functions_.contains(id) || written_.contains(id); }

    void write_function(const ReachableFunction& function) {
        for (const Instruction& instruction : function.source->head)
            write_instruction(instruction);
        const UnneededMerges unneeded(function, known_);
        // A merge instruction names its merge block and continue target, so they must exist even where no
        // branch reaches them.
        std::unordered_set<Id> merges;
        std::unordered_map<Id, Id> headers; // by continue target
        for (const Block& block : function.source->blocks)
            if (function.is_reachable(block.label) && block.merge != 0 && !unneeded.contains(block)) {
                merges.insert(block.merge);
                if (block.is_loop_header())
                    headers.emplace(block.continue_target, block.label);
            }
        for (const Block& block : function.source->blocks) {
            const bool live = function.is_reachable(block.label);
            const auto header = headers.find(block.label);
            if (!live && header == headers.end() && !merges.contains(block.label))
                continue;
            append(functions_, Op::label, {block.label});
            if (live)
                write_block(function, block, unneeded);
            else if (header != headers.end())
                append(functions_, Op::branch, {header->second});
            else
                append(functions_, Op::unreachable, {});
        }
        append(functions_, Op::function_end, {});
    }

    void write_block(const ReachableFunction& function, const Block& block, const UnneededMerges& unneeded) {
        for (const Instruction& instruction : block.instructions) {
            const Op op = instruction.op();
            if (&instruction == &block.terminator())
                write_terminator(block, unneeded);
            else if (op == Op::phi)
                write_phi(function, block, instruction);
            else if (op != Op::selection_merge || !unneeded.contains(block))
                write_instruction(instruction);
        }
    }

    void write_terminator(const Block& block, const UnneededMerges& unneeded) {
        const Instruction& terminator = block.terminator();
        const bool decides = terminator.op() == Op::branch_conditional || terminator.op() == Op::switch_;
        const std::vector<Id> next = successors(block, known_);
        if (!decides || next.size() > 1)
            append(functions_, terminator);
        else if (block.merge != 0 && !block.is_loop_header() && !unneeded.contains(block))
            append(functions_, Op::switch_, {selector_for(terminator), next.front()});
        else
            append(functions_, Op::branch, {next.front()});
    }

    /// A selector for a switch whose only target is its default: any integer will do.
    Id selector_for(const Instruction& terminator) const {
        if (terminator.op() == Op::switch_)
            return terminator[1];
        for (const Instruction& instruction : module_.globals)
            if (instruction.op() == Op::constant && known_.is_constant(instruction))
                return instruction[2];
        throw std::logic_error("the module declares no constant");
    }

    void write_phi(const ReachableFunction& function, const Block& block, const Instruction& phi) {
        if (replaced_by_constant(phi))
            return;
        std::vector<Word> words{0, phi[1], phi[2]};
        for (std::size_t at = 3; at + 1 < phi.words.size(); at += 2)
            if (function.has_edge(phi[at + 1], block.label))
                words.insert(words.end(), {phi[at], phi[at + 1]});
        if (block.is_loop_header() && !function.is_reachable(block.continue_target)) {
            append(new_globals_, Op::undef, {phi[1], bound_});
            words.insert(words.end(), {bound_++, block.continue_target});
        }
        words[0] = static_cast<Word>(words.size() << 16) | static_cast<Word>(Op::phi);
        functions_.insert(functions_.end(), words.begin(), words.end());
        written_.insert(phi[2]);
    }

    void write_instruction(const Instruction& instruction) {
        if (replaced_by_constant(instruction))
            return;
        append(functions_, instruction);
        if (known_.has_result(instruction))
            written_.insert(instruction[2]);
    }

    /// Declares a result that is a constant in the global section, under the same id, so that the instruction
    /// can be left out. Returns false if the result is not a constant.
    bool replaced_by_constant(const Instruction& instruction) {
        if (!known_.is_constant(instruction))
            return false;
        known_.append_constant(new_globals_, instruction[1], instruction[2]);
        written_.insert(instruction[2]);
        return true;
    }

    const Module& module_;
    const KnownValues& known_;
    const ReachableCode& code_;
    const Instruction& entry_;
    Word bound_;
    std::vector<Word> new_globals_, functions_;
    std::unordered_set<Id> written_;
    std::unordered_set<Id> in_functions_ = results_in_functions();

    std::unordered_set<Id> results_in_functions() const {
        std::unordered_set<Id> ids;
        const auto add = [&](const Instruction& instruction) {
            if (known_.has_result(instruction))
                ids.insert(instruction[2]);
        };
        for (const Function& function : module_.functions) {
            std::ranges::for_each(function.head, add);
            for (const Block& block : function.blocks)
                std::ranges::for_each(block.instructions, add);
        }
        return ids;
    }
};

} // namespace

std::vector<std::uint32_t> specialized_module(const kernels::Kernel& kernel,
                                              std::span<const std::uint32_t> values) {
    const std::vector<Word> words = with_values(kernel, values);
    const Module module(words);
    const Instruction& entry = entry_point_of(module, kernel.name);
    KnownValues known(module);
    const ReachableCode code(module, known, entry[2]);
    return Writer(module, known, code, entry).write();
}

} // namespace rekindle::runtime
