#include "pipeline/pipeline_identity.h"
#include "pipeline/specialized_module.h"
#include "pipeline/spirv.h"

#include <rekindle/kernels/launchers.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

using namespace rekindle;
using namespace rekindle::runtime::spirv;

namespace {

constexpr auto op_type_void = Op{19}, op_type_pointer = Op{32}, op_type_function = Op{33},
               op_variable = Op{59}, op_load = Op{61}, op_store = Op{62};
constexpr Word private_storage = 6, spec_id = 4;

/// Ids of the modules below. `setting` is their specialization constant; `is_one` holds `setting == 1`.
enum Ids : Id {
    void_type = 1,
    function_type,
    getter_type,
    boolean,
    integer,
    pointer,
    zero,
    one,
    setting,
    variable,
    main_function,
    getter,
    is_one,
    loaded,
    varies,
    result,
    entry,
    first, // and the following: labels
    second,
    third,
    inner,
    leave,
    continues,
    merge,
    bound
};

/// A module whose function "main" begins with `is_one = setting == 1`.
class Builder {
  public:
    Builder() {
        add(Op::entry_point, {5, main_function, 0x6e69616d, 0}); // "main"
        add(Op::decorate, {setting, decoration_spec_id, spec_id});
        add(op_type_void, {void_type});
        add(op_type_function, {function_type, void_type});
        add(Op::type_bool, {boolean});
        add(Op::type_int, {integer, 32, 0});
        add(op_type_function, {getter_type, integer});
        add(op_type_pointer, {pointer, private_storage, integer});
        add(Op::constant, {integer, zero, 0});
        add(Op::constant, {integer, one, 1});
        add(Op::spec_constant, {integer, setting, 7});
        add(op_variable, {pointer, variable, private_storage});
        add(Op::function, {void_type, main_function, 0, function_type});
        add(Op::label, {entry});
        add(Op::i_equal, {boolean, is_one, setting, one});
    }
    Builder& add(Op op, std::initializer_list<Word> operands) {
        append(words, op, operands);
        return *this;
    }
    /// A block that only branches.
    Builder& block(Id label, Id target) { return add(Op::label, {label}).add(Op::branch, {target}); }
    /// The last block of "main".
    Builder& end() { return add(Op::label, {merge}).add(Op::return_, {}).add(Op::function_end, {}); }

    std::vector<Word> words{0x07230203, 0x00010500, 0, bound, 0};
};

class Specialized {
  public:
    Specialized(const Builder& builder, Word value)
        : words_(runtime::specialized_module(kernel_of(builder), std::array{value})), module_(words_) {}

    std::vector<Id> labels() const {
        std::vector<Id> labels;
        for (const Block& block : module_.functions.at(0).blocks)
            labels.push_back(block.label);
        return labels;
    }
    const Block& block(Id label) const {
        return *std::ranges::find(module_.functions.at(0).blocks, label, &Block::label);
    }
    std::vector<Word> operands_at_end_of(Id label) const {
        const auto words = block(label).terminator().words;
        return {words.begin() + 1, words.end()};
    }
    std::size_t functions() const { return module_.functions.size(); }
    /// The value of the integer constant with this id.
    Word number(Id id) const {
        for (const Instruction& instruction : module_.globals)
            if (instruction.op() == Op::constant && instruction[2] == id)
                return instruction[3];
        ADD_FAILURE() << "there is no constant " << id;
        return 0;
    }

  private:
    static kernels::Kernel kernel_of(const Builder& builder) {
        static constexpr std::array<kernels::SpecializationConstant, 1> constants{{{"setting", spec_id, 7}}};
        return {"main", "family", "", {}, 1, 0, builder.words, constants, {}};
    }

    std::vector<Word> words_;
    Module module_;
};

/// if (is_one) { first } else { second }; result = one after first, zero after second.
Builder with_branch() {
    Builder module;
    module.add(Op::selection_merge, {merge, 0}).add(Op::branch_conditional, {is_one, first, second});
    module.block(first, merge).block(second, merge);
    module.add(Op::label, {merge}).add(Op::phi, {integer, result, one, first, zero, second});
    module.add(op_store, {variable, result}).add(Op::return_, {}).add(Op::function_end, {});
    return module;
}

TEST(SpecializedModule, OnlyTheChosenBranchRemains) {
    EXPECT_EQ(Specialized(with_branch(), 1).labels(), (std::vector<Id>{entry, first, merge}));
    EXPECT_EQ(Specialized(with_branch(), 2).labels(), (std::vector<Id>{entry, second, merge}));
}

TEST(SpecializedModule, ConstantsAndWhatFollowsFromThemBecomeNumbers) {
    const Specialized yes(with_branch(), 1), no(with_branch(), 2);
    EXPECT_EQ(yes.number(setting), 1u);
    EXPECT_EQ(no.number(setting), 2u);
    EXPECT_EQ(yes.number(result), 1u);
    EXPECT_EQ(no.number(result), 0u);
}

TEST(SpecializedModule, ASelectionWithOneBranchLosesItsMerge) {
    const Specialized module(with_branch(), 1);
    EXPECT_EQ(module.block(entry).merge, 0u);
    EXPECT_EQ(module.block(entry).terminator().op(), Op::branch);
}

TEST(SpecializedModule, OfASwitchTheCaseOrTheDefaultRemains) {
    Builder module;
    module.add(Op::selection_merge, {merge, 0}).add(Op::switch_, {setting, first, 0, second, 6, third});
    module.block(first, merge).block(second, merge).block(third, merge).end();
    EXPECT_EQ(Specialized(module, 0).labels(), (std::vector<Id>{entry, second, merge}));
    EXPECT_EQ(Specialized(module, 6).labels(), (std::vector<Id>{entry, third, merge}));
    EXPECT_EQ(Specialized(module, 1).labels(), (std::vector<Id>{entry, first, merge}));
}

TEST(SpecializedModule, ASwitchWithOneTargetStays) {
    Builder module;
    module.add(Op::selection_merge, {merge, 0}).add(Op::switch_, {setting, first});
    module.block(first, merge).end();
    const Specialized specialized(module, 1);
    EXPECT_EQ(specialized.block(entry).merge, merge);
    EXPECT_EQ(specialized.operands_at_end_of(entry), (std::vector<Word>{setting, first}));
}

TEST(SpecializedModule, ABreakFromANestedSelectionKeepsTheSwitch) {
    Builder module;
    module.add(op_load, {integer, loaded, variable}).add(Op::i_equal, {boolean, varies, loaded, one});
    module.add(Op::selection_merge, {merge, 0}).add(Op::switch_, {setting, first, 1, second});
    module.add(Op::label, {first}).add(Op::selection_merge, {inner, 0});
    module.add(Op::branch_conditional, {varies, leave, inner});
    module.block(leave, merge).block(inner, merge).block(second, merge).end();
    const Specialized with_break(module, 2), without(module, 1);
    EXPECT_EQ(with_break.labels(), (std::vector<Id>{entry, first, leave, inner, merge}));
    EXPECT_EQ(with_break.block(entry).merge, merge);
    EXPECT_EQ(with_break.operands_at_end_of(entry), (std::vector<Word>{setting, first}));
    EXPECT_EQ(without.labels(), (std::vector<Id>{entry, second, merge}));
    EXPECT_EQ(without.block(entry).merge, 0u);
}

TEST(SpecializedModule, ALoopThatAlwaysEndsKeepsItsContinueTarget) {
    Builder module;
    module.add(op_load, {integer, loaded, variable}).add(Op::branch, {first});
    module.add(Op::label, {first}).add(Op::phi, {integer, result, loaded, entry, one, continues});
    module.add(Op::loop_merge, {merge, continues, 0}).add(Op::branch, {second});
    module.add(Op::label, {second}).add(Op::selection_merge, {third, 0});
    module.add(Op::branch_conditional, {is_one, leave, third});
    module.block(leave, merge).block(third, continues).block(continues, first).end();
    const Specialized once(module, 1), endless(module, 2);
    EXPECT_EQ(once.labels(), (std::vector<Id>{entry, first, second, leave, continues, merge}));
    EXPECT_EQ(once.operands_at_end_of(continues), (std::vector<Word>{first}));
    const Instruction& phi = once.block(first).instructions.at(0);
    EXPECT_EQ(phi.words.size(), 7u);
    EXPECT_EQ(phi[3], loaded);
    EXPECT_EQ(phi[5], bound) << "an OpUndef with a new id";
    EXPECT_EQ(phi[6], continues);
    EXPECT_EQ(endless.labels(), (std::vector<Id>{entry, first, second, third, continues, merge}));
    EXPECT_EQ(endless.block(merge).terminator().op(), Op::unreachable);
}

TEST(SpecializedModule, ValuesThatChangeInALoopAreNoConstants) {
    Builder module;
    module.add(op_load, {integer, loaded, variable}).add(Op::i_equal, {boolean, varies, loaded, one});
    module.add(Op::branch, {first});
    module.add(Op::label, {first}).add(Op::phi, {integer, result, zero, entry, one, continues});
    module.add(Op::loop_merge, {merge, continues, 0}).add(Op::branch_conditional, {varies, continues, merge});
    module.block(continues, first).end();
    const Specialized specialized(module, 1);
    EXPECT_EQ(specialized.block(first).instructions.at(0).op(), Op::phi);
    EXPECT_EQ(specialized.labels(), (std::vector<Id>{entry, first, continues, merge}));
}

TEST(SpecializedModule, AFunctionThatReturnsAConstantIsNotCalled) {
    Builder module;
    module.add(Op::function_call, {integer, result, getter}).add(op_store, {variable, result});
    module.add(Op::branch, {merge}).end();
    module.add(Op::function, {integer, getter, 0, getter_type}).add(Op::label, {first});
    module.add(Op::return_value, {setting}).add(Op::function_end, {});
    const Specialized specialized(module, 3);
    EXPECT_EQ(specialized.functions(), 1u);
    EXPECT_EQ(specialized.number(result), 3u);
}

/// Labels that a module's branches and merge instructions name.
std::set<Id> named_labels(const Module& module) {
    std::set<Id> labels;
    for (const Function& function : module.functions)
        for (const Block& block : function.blocks) {
            labels.insert({block.merge, block.continue_target});
            const Instruction& terminator = block.terminator();
            if (terminator.op() == Op::branch)
                labels.insert(terminator[1]);
            if (terminator.op() == Op::branch_conditional)
                labels.insert({terminator[2], terminator[3]});
            if (terminator.op() == Op::switch_)
                for (std::size_t at = 2; at < terminator.words.size(); at += 2)
                    labels.insert(terminator[at]);
        }
    labels.erase(0);
    return labels;
}

void expect_complete(const Module& module, std::string_view name) {
    std::set<Id> functions, called, labels;
    for (const Function& function : module.functions) {
        functions.insert(function.id());
        for (const Block& block : function.blocks) {
            labels.insert(block.label);
            for (const Instruction& instruction : block.instructions)
                if (instruction.op() == Op::function_call)
                    called.insert(instruction[3]);
        }
    }
    EXPECT_TRUE(std::ranges::includes(functions, called)) << name;
    EXPECT_TRUE(std::ranges::includes(labels, named_labels(module))) << name;
}

/// In every audit case of every kernel, each label that is branched to and each function that is called
/// exists. All together are less than half as large as their modules.
TEST(SpecializedModule, KernelsAreCompleteAndSmaller) {
    std::size_t before = 0, after = 0;
    for (const kernels::Kernel& kernel : kernels::all())
        for (const kernels::AuditCase& one_case : kernel.audit) {
            const runtime::PipelineIdentity identity(kernel, one_case.constants);
            const std::vector<Word> words = runtime::specialized_module(kernel, identity.values);
            expect_complete(Module(words), kernel.name);
            before += kernel.module.size();
            after += words.size();
        }
    EXPECT_LT(after, before / 2);
}

} // namespace
