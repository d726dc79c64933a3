#include "constants.h"
#include "writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace rekindle::kernels::generator;
using testing::HasSubstr;
using testing::Not;

namespace {

/// A module of the family softmax with these constants; those without a value are not in the module.
Family softmax(const std::string& suffix,
               const std::vector<std::pair<std::string, std::optional<std::uint32_t>>>& constants) {
    Family family;
    family.name = "softmax" + suffix;
    family.entries.emplace_back().family = "softmax";
    for (const auto& [name, value] : constants) {
        const auto id = static_cast<std::uint32_t>(family.reflection.constants.size());
        family.reflection.constants.push_back({name, id});
        if (value)
            family.initial_values[id] = *value;
    }
    return family;
}

template <class F>
std::string constants_refusal(F&& f) {
    try {
        f();
    } catch (const Refused& e) {
        return e.what();
    }
    return "not refused";
}

std::string struct_of(const std::vector<SharedConstant>& constants) {
    return constants_struct("SoftmaxConstants", constants);
}

TEST(Constants, DtypesShareTheStructOfTheFirst) {
    const std::array families{softmax("", {{"columns", 1}, {"stage", 0}}),
                              softmax("_float64", {{"columns", 1}, {"stage", 0}})};
    const std::string first = family_header(families[0], families);
    const std::string second = family_header(families[1], families);
    EXPECT_THAT(first, HasSubstr("struct SoftmaxConstants {\n    std::uint32_t columns = 1u;\n"
                                 "    std::uint32_t stage = 0u;\n"));
    EXPECT_THAT(first, Not(HasSubstr("families/")));
    EXPECT_THAT(second, HasSubstr("#include <rekindle/kernels/families/softmax.h>\n"));
    EXPECT_THAT(second, Not(HasSubstr("struct SoftmaxConstants")));
    EXPECT_THAT(first, HasSubstr("struct SoftmaxParameters {\n    using Constants = SoftmaxConstants;"));
    EXPECT_THAT(second, Not(HasSubstr("struct SoftmaxParameters")));
    EXPECT_THAT(second, HasSubstr("TypedKernel<SoftmaxParameters>"));
}

TEST(Constants, AreRefusedIfTheDtypesHaveOthers) {
    const auto refusal = [](const Family& other) {
        const std::array families{softmax("", {{"columns", 1}, {"stage", 0}}), other};
        return constants_refusal([&] { family_header(families[0], families); });
    };
    EXPECT_EQ(refusal(softmax("_float64", {{"columns", 1}, {"stage", 0}})), "not refused");
    const auto clear = HasSubstr("softmax_float64 has other specialization constants than softmax");
    EXPECT_THAT(refusal(softmax("_float64", {{"columns", 1}})), clear);
    EXPECT_THAT(refusal(softmax("_float64", {{"stage", 0}, {"columns", 1}})), clear);
    EXPECT_THAT(refusal(softmax("_float64", {{"columns", 1}, {"part", 0}})), clear);
}

TEST(Parameters, AreRefusedIfTheDtypesHaveOthers) {
    std::array families{softmax("", {}), softmax("_float64", {})};
    families[0].reflection.fields = {{"words", "std::uint64_t", 0, 8}};
    families[0].reflection.parameter_bytes = 8;
    EXPECT_THAT(constants_refusal([&] { family_header(families[1], families); }),
                HasSubstr("block is not that of the module softmax"));
    families[1].reflection.fields = families[0].reflection.fields;
    families[1].reflection.parameter_bytes = 8;
    EXPECT_EQ(constants_refusal([&] { family_header(families[1], families); }), "not refused");
    families[1].reflection.fields[0].type = "std::int64_t";
    EXPECT_NE(constants_refusal([&] { family_header(families[1], families); }), "not refused");
}

TEST(Constants, MustBeGivenIfTheDtypesHaveDifferentInitialValues) {
    const Family first = softmax("", {{"dtype", 6}, {"quads", 2}, {"unused", std::nullopt}});
    const Family second =
        softmax("_integer", {{"dtype", 4}, {"quads", std::nullopt}, {"unused", std::nullopt}});
    const auto constants = shared_constants(std::array{&first, &second});
    ASSERT_EQ(constants.size(), 3u);
    EXPECT_EQ(constants[0].initial, std::nullopt);
    EXPECT_EQ(constants[1].initial, 2u);
    EXPECT_EQ(constants[2].initial, 0u);
    EXPECT_THAT(struct_of(constants),
                HasSubstr("    RequiredConstant dtype;\n    std::uint32_t quads = 2u;\n"));
}

TEST(Constants, WithNumbersBecomeArraysOfStructs) {
    const std::string text = struct_of({{"stage", 1},
                                        {"slot0_weights", 3},
                                        {"slot0_first_tile", 0},
                                        {"slot1_weights", 3},
                                        {"slot1_first_tile", 0},
                                        {"input_dtype_0", 6}});
    EXPECT_EQ(text, R"(struct SoftmaxConstants {
    struct Slot {
        std::uint32_t weights = 3u;
        std::uint32_t first_tile = 0u;
    };
    std::uint32_t stage = 1u;
    std::array<Slot, 2> slot{};
    std::uint32_t input_dtype_0 = 6u;

    /// All of them, in the order of Kernel::constants.
    constexpr std::array<ConstantValue, 6> list() const {
        return {{
            {"stage", stage},
            {"slot0_weights", slot[0].weights},
            {"slot0_first_tile", slot[0].first_tile},
            {"slot1_weights", slot[1].weights},
            {"slot1_first_tile", slot[1].first_tile},
            {"input_dtype_0", input_dtype_0},
        }};
    }
};
)");
}

TEST(Constants, WithNumbersMustBeAlike) {
    const auto refusal = [](const std::vector<SharedConstant>& constants) {
        return constants_refusal([&] { struct_of(constants); });
    };
    const auto unlike =
        HasSubstr("'slot…' do not have the same names, in the same order, for each number from 0");
    EXPECT_THAT(refusal({{"slot0_weights", 0}, {"slot1_inputs", 0}}), unlike);
    EXPECT_THAT(refusal({{"slot0_weights", 0}, {"slot0_inputs", 0}, {"slot1_weights", 0}}), unlike);
    EXPECT_THAT(refusal({{"slot0_weights", 0}, {"slot2_weights", 0}}), unlike);
    EXPECT_THAT(refusal({{"slot1_weights", 0}}), unlike);
    EXPECT_THAT(refusal({{"slot0_weights", 0}, {"slot1_weights", 1}}), HasSubstr("different initial values"));
    EXPECT_EQ(refusal({{"slot0_weights", 1}, {"slot1_weights", 1}}), "not refused");
}

} // namespace
