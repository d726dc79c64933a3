#include "pipeline/specialized_module.h"
#include "pipeline/spirv.h"

#include <rekindle/kernels/launchers.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

using namespace rekindle;
using namespace rekindle::runtime::spirv;

namespace {

// Ids of the module below.
enum : Id {
    void_type = 1,
    function_type,
    boolean,
    word,
    zero,
    one,
    constant,
    main_function,
    entry,
    yes,
    no,
    merge,
    choice,
    equal,
    pointer,
    buffer,
    bound
};
constexpr Word spec_id = 4;

/// "main": `if (constant == 1) {…} else {…}`, then a store of OpPhi(one, zero).
std::vector<Word> module_with_branch() {
    std::vector<Word> words{0x07230203, 0x00010500, 0, bound, 0};
    append(words, Op::entry_point, {5, main_function, 0x6e69616d, 0}); // "main"
    append(words, Op::decorate, {constant, decoration_spec_id, spec_id});
    append(words, static_cast<Op>(19), {void_type});
    append(words, static_cast<Op>(33), {function_type, void_type});
    append(words, Op::type_bool, {boolean});
    append(words, Op::type_int, {word, 32, 0});
    append(words, Op::constant, {word, zero, 0});
    append(words, Op::constant, {word, one, 1});
    append(words, Op::spec_constant, {word, constant, 7});
    append(words, static_cast<Op>(32), {pointer, 6, word});
    append(words, static_cast<Op>(59), {pointer, buffer, 6});
    append(words, Op::function, {void_type, main_function, 0, function_type});
    append(words, Op::label, {entry});
    append(words, Op::i_equal, {boolean, equal, constant, one});
    append(words, Op::selection_merge, {merge, 0});
    append(words, Op::branch_conditional, {equal, yes, no});
    append(words, Op::label, {yes});
    append(words, Op::branch, {merge});
    append(words, Op::label, {no});
    append(words, Op::branch, {merge});
    append(words, Op::label, {merge});
    append(words, Op::phi, {word, choice, one, yes, zero, no});
    append(words, static_cast<Op>(62), {buffer, choice});
    append(words, Op::return_, {});
    append(words, Op::function_end, {});
    return words;
}

kernels::Kernel kernel_of(std::span<const Word> module,
                          std::span<const kernels::SpecializationConstant> constants) {
    return {"main", "family", "", {}, 1, 0, module, constants, {}};
}

struct Specialized {
    explicit Specialized(Word value)
        : words(runtime::specialized_module(kernel_of(source, constants), std::array{value})), module(words) {
    }

    std::vector<Id> labels() const {
        std::vector<Id> result;
        for (const Block& block : module.functions.at(0).blocks)
            result.push_back(block.label);
        return result;
    }
    /// The value of the 32-bit constant with this id.
    Word number(Id id) const {
        for (const Instruction& instruction : module.globals)
            if (instruction.op() == Op::constant && instruction[2] == id)
                return instruction[3];
        ADD_FAILURE() << "there is no constant " << id;
        return 0;
    }

    std::vector<Word> source = module_with_branch();
    std::array<kernels::SpecializationConstant, 1> constants{{{"choice", spec_id, 7}}};
    std::vector<Word> words;
    Module module;
};

TEST(SpecializedModule, OnlyTheChosenBranchRemains) {
    EXPECT_EQ(Specialized(1).labels(), (std::vector<Id>{entry, yes, merge}));
    EXPECT_EQ(Specialized(2).labels(), (std::vector<Id>{entry, no, merge}));
}

TEST(SpecializedModule, ConstantsAndWhatFollowsFromThemAreNumbers) {
    const Specialized first(1), second(2);
    EXPECT_EQ(first.number(constant), 1u);
    EXPECT_EQ(second.number(constant), 2u);
    EXPECT_EQ(first.number(choice), 1u);
    EXPECT_EQ(second.number(choice), 0u);
}

TEST(SpecializedModule, NothingRefersToTheSelectionThatIsGone) {
    const Specialized module(1);
    for (const Block& block : module.module.functions.at(0).blocks)
        for (const Instruction& instruction : block.instructions)
            EXPECT_TRUE(instruction.op() != Op::selection_merge && instruction.op() != Op::phi &&
                        instruction.op() != Op::branch_conditional);
}

/// Every branch of every kernel leads to a block that exists, and every function that is called exists, too;
/// what remains is at most as large as the module.
TEST(SpecializedModule, KernelsAreComplete) {
    std::size_t before = 0, after = 0;
    for (const kernels::Kernel& kernel : kernels::all()) {
        std::vector<std::uint32_t> values;
        for (const kernels::SpecializationConstant& one : kernel.constants)
            values.push_back(one.initial);
        const std::vector<Word> words = runtime::specialized_module(kernel, values);
        const Module module(words);
        std::set<Id> functions, labels, used;
        for (const Function& function : module.functions) {
            functions.insert(function.id());
            for (const Block& block : function.blocks) {
                labels.insert(block.label);
                used.insert({block.merge, block.continues});
                const Instruction& end = block.end();
                if (end.op() == Op::branch)
                    used.insert(end[1]);
                if (end.op() == Op::branch_conditional)
                    used.insert({end[2], end[3]});
            }
        }
        used.erase(0);
        EXPECT_TRUE(std::ranges::includes(labels, used)) << kernel.name;
        for (const Function& function : module.functions)
            for (const Block& block : function.blocks)
                for (const Instruction& instruction : block.instructions)
                    if (instruction.op() == Op::function_call) {
                        EXPECT_TRUE(functions.contains(instruction[3])) << kernel.name;
                    }
        before += kernel.module.size();
        after += words.size();
    }
    EXPECT_LT(after, before / 2);
}

} // namespace
