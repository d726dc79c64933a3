#include "pipeline/spirv.h"

namespace rekindle::runtime::spirv {

Module::Module(std::span<const Word> words) : header(words.first(header_words)) {
    for (std::size_t at = header_words; at < words.size();) {
        const Instruction instruction{words.subspan(at, words[at] >> 16)};
        at += instruction.words.size();
        switch (instruction.op()) {
        case Op::function:
            functions.emplace_back().head.push_back(instruction);
            break;
        case Op::function_parameter:
            functions.back().head.push_back(instruction);
            break;
        case Op::function_end:
            break;
        case Op::label:
            functions.back().blocks.emplace_back().label = instruction[1];
            break;
        default:
            if (functions.empty()) {
                globals.push_back(instruction);
                break;
            }
            Block& block = functions.back().blocks.back();
            block.instructions.push_back(instruction);
            if (instruction.op() == Op::selection_merge || instruction.op() == Op::loop_merge)
                block.merge = instruction[1];
            if (instruction.op() == Op::loop_merge)
                block.continue_target = instruction[2];
        }
    }
}

void append(std::vector<Word>& to, Op op, std::initializer_list<Word> operands) {
    to.push_back(static_cast<Word>((operands.size() + 1) << 16) | static_cast<Word>(op));
    to.insert(to.end(), operands);
}

void append(std::vector<Word>& to, const Instruction& instruction) {
    to.insert(to.end(), instruction.words.begin(), instruction.words.end());
}

} // namespace rekindle::runtime::spirv
