#include "audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <string>

using namespace rekindle::kernels;
using namespace rekindle::kernels::generator;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

namespace {

const std::array<std::string_view, 2> names = {"train", "evaluate"};
const std::array<ReflectedConstant, 2> constants = {ReflectedConstant{"width", 0},
                                                    ReflectedConstant{"depth", 1}};

std::string refusal(const std::string& text) {
    try {
        parse_audit(text, names, constants);
    } catch (const Refused& e) {
        return e.what();
    }
    return "not refused";
}

} // namespace

TEST(Audit, ReadsCasesAndSkipsComments) {
    const auto cases = parse_audit(
        "# widths\n\ntrain | 54-128-64-1, batch 32 | width=128 depth=3 shared_48k\nevaluate|plain|\n", names,
        constants);
    ASSERT_EQ(cases.size(), 2u);
    EXPECT_EQ(cases[0].kernel, "train");
    EXPECT_EQ(cases[0].name, "54-128-64-1, batch 32");
    EXPECT_THAT(cases[0].constants, ElementsAre(Pair("width", 128u), Pair("depth", 3u)));
    EXPECT_EQ(cases[0].needs, Features(Feature::shared_48k));
    EXPECT_EQ(cases[1].name, "plain");
    EXPECT_TRUE(cases[1].needs.empty());
    EXPECT_TRUE(cases[1].constants.empty());
}

TEST(Audit, NamesTheFaultyLine) {
    EXPECT_THAT(refusal("train | a |\ntrain, b"), HasSubstr("line 2: not of the form"));
    EXPECT_THAT(refusal("other | a |"), HasSubstr("no kernel 'other'"));
    EXPECT_THAT(refusal("train | a | height=1"), HasSubstr("no specialization constant 'height'"));
    EXPECT_THAT(refusal("train | a | width"), HasSubstr("'width' is not"));
    EXPECT_THAT(refusal("train | a | width=4294967296"), HasSubstr("is not constant=value"));
    EXPECT_THAT(refusal("train | a | width=-1"), HasSubstr("is not constant=value"));
    EXPECT_THAT(refusal("train | a |\ntrain | a | width=2"),
                HasSubstr("line 2: the case 'a' of 'train' appears twice"));
}

TEST(Audit, EveryKernelOfAFamilyWithConstantsNeedsACase) {
    const std::filesystem::path file = testing::TempDir() + "rekindle_audit_test.txt";
    std::ofstream(file) << "train | a | width=2\n";
    EXPECT_THROW(read_audit(file, names, constants), Refused);
    EXPECT_EQ(read_audit(file, std::span(names).first(1), constants).size(), 1u);
    std::filesystem::remove(file);
    EXPECT_THROW(read_audit(file, names, constants), Refused);
    const auto cases = read_audit(file, names, {}); // no constants: one case each, no file
    ASSERT_EQ(cases.size(), 2u);
    EXPECT_TRUE(cases[0].constants.empty());
}
