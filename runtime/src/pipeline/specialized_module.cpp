#include "pipeline/specialized_module.h"

#include "pipeline/live_code.h"

#include <algorithm>
#include <string>

namespace rekindle::runtime {

namespace {

using namespace spirv;

/// Global instructions with the constants' values in place of their initial ones.
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

/// The name of an OpEntryPoint: zero-terminated, little-endian.
std::string name_of(const Instruction& entry) {
    std::string name;
    for (const Word word : entry.words.subspan(3))
        for (int byte = 0; byte < 4; ++byte) {
            const char c = static_cast<char>(word >> (8 * byte) & 0xff);
            if (c == 0)
                return name;
            name += c;
        }
    return name;
}

const Instruction& entry_point_of(const Module& module, std::string_view name) {
    return *std::ranges::find_if(module.globals, [&](const Instruction& instruction) {
        return instruction.op() == Op::entry_point && name_of(instruction) == name;
    });
}

/// A selection whose condition is known can lose its OpSelectionMerge, unless a block in a nested construct
/// leaves it through the merge block, as `break` in a switch does.
class Selections {
  public:
    Selections(const LiveFunction& function, const KnownValues& known) : function_(function), known_(known) {
        // From the innermost to the outermost: a header precedes the blocks of its construct.
        for (auto block = function.source->blocks.rbegin(); block != function.source->blocks.rend(); ++block)
            if (function.is_live(block->label) && block->merge != 0 && !block->has_loop() &&
                successors(*block, known).size() == 1 && !nested_exit(*block))
                dissolved_.insert(block->label);
    }

    bool dissolved(const Block& block) const { return dissolved_.contains(block.label); }

  private:
    bool is_header(const Block& block) const { return block.merge != 0 && !dissolved(block); }

    bool nested_exit(const Block& header) const {
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

    const LiveFunction& function_;
    const KnownValues& known_;
    std::unordered_set<Id> dissolved_;
};

class Writer {
  public:
    Writer(const Module& module, const KnownValues& known, const LiveCode& code, const Instruction& entry)
        : module_(module), known_(known), code_(code), entry_(entry), bound_(module.header[bound_word]) {}

    std::vector<Word> write() {
        for (const Function& function : module_.functions) {
            const auto live = code_.functions().find(function.id());
            if (live != code_.functions().end() && !live->second.result)
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
        if (folded && known_.number(instruction[2]))
            known_.append_constant(to, instruction[1], instruction[2]);
        else
            append(to, instruction);
    }

    /// False for results of functions and blocks that are not written.
    bool exists(Id id) const { return !in_functions_.contains(id) || written_.contains(id); }

    void write_function(const LiveFunction& function) {
        for (const Instruction& instruction : function.source->head)
            write_instruction(instruction);
        const Selections selections(function, known_);
        // The blocks that must exist because a construct names them: the merge block, or the block that
        // continues a loop, with the loop's header.
        std::unordered_set<Id> merges;
        std::unordered_map<Id, Id> continues;
        for (const Block& block : function.source->blocks)
            if (function.is_live(block.label) && block.merge != 0 && !selections.dissolved(block)) {
                merges.insert(block.merge);
                if (block.has_loop())
                    continues.emplace(block.continues, block.label);
            }
        for (const Block& block : function.source->blocks) {
            const bool live = function.is_live(block.label);
            const auto loop = continues.find(block.label);
            if (!live && loop == continues.end() && !merges.contains(block.label))
                continue;
            append(functions_, Op::label, {block.label});
            if (live)
                write_block(function, block, selections);
            else if (loop != continues.end())
                append(functions_, Op::branch, {loop->second});
            else
                append(functions_, Op::unreachable, {});
        }
        append(functions_, Op::function_end, {});
    }

    void write_block(const LiveFunction& function, const Block& block, const Selections& selections) {
        for (const Instruction& instruction : block.instructions) {
            const Op op = instruction.op();
            if (&instruction == &block.end())
                write_end(block, selections);
            else if (op == Op::phi)
                write_phi(function, block, instruction);
            else if (op != Op::selection_merge || !selections.dissolved(block))
                write_instruction(instruction);
        }
    }

    void write_end(const Block& block, const Selections& selections) {
        const Instruction& end = block.end();
        const bool decides = end.op() == Op::branch_conditional || end.op() == Op::switch_;
        const std::vector<Id> next = successors(block, known_);
        if (!decides || next.size() > 1)
            append(functions_, end);
        else if (block.merge != 0 && !block.has_loop() && !selections.dissolved(block))
            append(functions_, Op::switch_, {a_number(end), next.front()});
        else
            append(functions_, Op::branch, {next.front()});
    }

    /// The selector of a switch with a single target.
    Id a_number(const Instruction& end) {
        if (end.op() == Op::switch_)
            return end[1];
        for (const Instruction& instruction : module_.globals)
            if (instruction.op() == Op::constant && known_.number(instruction[2]))
                return instruction[2];
        throw std::logic_error("a module has no 32-bit constant");
    }

    void write_phi(const LiveFunction& function, const Block& block, const Instruction& phi) {
        if (hoisted(phi))
            return;
        std::vector<Word> words{0, phi[1], phi[2]};
        for (std::size_t at = 3; at + 1 < phi.words.size(); at += 2)
            if (function.has_edge(phi[at + 1], block.label))
                words.insert(words.end(), {phi[at], phi[at + 1]});
        if (block.has_loop() && !function.is_live(block.continues)) {
            append(new_globals_, Op::undef, {phi[1], bound_});
            words.insert(words.end(), {bound_++, block.continues});
        }
        words[0] = static_cast<Word>(words.size() << 16) | static_cast<Word>(Op::phi);
        functions_.insert(functions_.end(), words.begin(), words.end());
        written_.insert(phi[2]);
    }

    void write_instruction(const Instruction& instruction) {
        if (hoisted(instruction))
            return;
        append(functions_, instruction);
        if (instruction.words.size() > 2 && known_.is_type(instruction[1]))
            written_.insert(instruction[2]);
    }

    /// A result that is known becomes a constant with the same id.
    bool hoisted(const Instruction& instruction) {
        if (instruction.words.size() < 3 || !known_.is_type(instruction[1]) || !known_.number(instruction[2]))
            return false;
        known_.append_constant(new_globals_, instruction[1], instruction[2]);
        written_.insert(instruction[2]);
        return true;
    }

    const Module& module_;
    const KnownValues& known_;
    const LiveCode& code_;
    const Instruction& entry_;
    Word bound_;
    std::vector<Word> new_globals_, functions_;
    std::unordered_set<Id> written_;
    std::unordered_set<Id> in_functions_ = ids_of_functions();

    std::unordered_set<Id> ids_of_functions() const {
        std::unordered_set<Id> ids;
        const auto add = [&](const Instruction& instruction) {
            if (instruction.words.size() > 2 && known_.is_type(instruction[1]))
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
    const LiveCode code(module, known, entry[2]);
    return Writer(module, known, code, entry).write();
}

} // namespace rekindle::runtime
