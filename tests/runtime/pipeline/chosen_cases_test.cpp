#include "pipeline/chosen_cases.h"

#include <rekindle/kernels/launchers.h>

#include <gtest/gtest.h>

#include <array>
#include <vector>

using namespace rekindle;
using Words = std::vector<std::uint32_t>;

namespace {

constexpr std::uint32_t op_decorate = 71, op_switch = 251, op_return = 253, spec_id = 1;

void add(Words& words, std::uint32_t operation, std::initializer_list<std::uint32_t> operands) {
    words.push_back(static_cast<std::uint32_t>((operands.size() + 1) << 16) | operation);
    words.insert(words.end(), operands);
}

/// Id 7 is the constant with SpecId 4, id 8 the one with SpecId 5.
Words module_with_switches() {
    Words words{0x07230203, 0x00010500, 0, 100, 0};
    add(words, op_decorate, {7, spec_id, 4});
    add(words, op_decorate, {8, spec_id, 5});
    add(words, op_switch, {7, 20, 0, 21, 6, 22});
    add(words, op_switch, {9, 30, 0, 31});
    add(words, op_switch, {8, 40, 1, 41});
    add(words, op_return, {});
    return words;
}

constexpr std::array<kernels::SpecializationConstant, 2> constants{{{"operation", 4, 0}, {"dtype", 5, 1}}};

Words chosen(std::uint32_t operation, std::uint32_t dtype) {
    const std::array values{operation, dtype};
    return runtime::with_chosen_cases(module_with_switches(), constants, values);
}

Words expected(std::uint32_t first, std::uint32_t last) {
    Words words{0x07230203, 0x00010500, 0, 100, 0};
    add(words, op_decorate, {7, spec_id, 4});
    add(words, op_decorate, {8, spec_id, 5});
    add(words, op_switch, {7, first});
    add(words, op_switch, {9, 30, 0, 31});
    add(words, op_switch, {8, last});
    add(words, op_return, {});
    return words;
}

TEST(ChosenCases, OnlyTheTargetOfTheValueRemains) {
    EXPECT_EQ(chosen(0, 1), expected(21, 41));
    EXPECT_EQ(chosen(6, 1), expected(22, 41));
}

TEST(ChosenCases, TheDefaultRemainsIfNoCaseMatches) {
    EXPECT_EQ(chosen(1, 2), expected(20, 40));
}

TEST(ChosenCases, ModulesWithoutSwitchesOnConstantsAreUnchanged) {
    const auto& module = kernels::fill_words.kernel.module;
    EXPECT_EQ(runtime::with_chosen_cases(module, {}, {}), Words(module.begin(), module.end()));
}

} // namespace
