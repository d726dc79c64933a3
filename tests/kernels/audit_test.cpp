#include "audit.h"
#include "temporary_folder.h"
#include "values.h"

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

const std::array<ReflectedConstant, 2> constants = {ReflectedConstant{"width", 0},
                                                    ReflectedConstant{"depth", 1}};

AuditScope scope_of(std::vector<std::string_view> kernels,
                    std::span<const ReflectedConstant> of = constants) {
    return {"family", "float32", std::move(kernels), {}, of};
}

std::string audit_refusal(const std::string& text,
                          const AuditScope& scope = scope_of({"train", "evaluate"})) {
    try {
        parse_audit(text, scope);
    } catch (const Refused& e) {
        return e.what();
    }
    return "not refused";
}

} // namespace

TEST(Audit, ReadsCasesAndSkipsComments) {
    const auto cases =
        parse_audit("# widths\n\ntrain | 54-128-64-1, batch 32 | width=128 depth=3\nevaluate|plain|\n",
                    scope_of({"train", "evaluate"}));
    ASSERT_EQ(cases.size(), 2u);
    EXPECT_EQ(cases[0].kernel, "train");
    EXPECT_EQ(cases[0].name, "54-128-64-1, batch 32");
    EXPECT_THAT(cases[0].constants, ElementsAre(Pair("width", 128u), Pair("depth", 3u)));
    EXPECT_EQ(cases[1].name, "plain");
    EXPECT_TRUE(cases[1].constants.empty());
}

TEST(Audit, NamesTheFaultyLine) {
    EXPECT_THAT(audit_refusal("train | a |\ntrain, b"), HasSubstr("line 2: not of the form"));
    EXPECT_THAT(audit_refusal("other | a |"), HasSubstr("no kernel 'other'"));
    EXPECT_THAT(audit_refusal("train | a | height=1"), HasSubstr("no specialization constant 'height'"));
    EXPECT_THAT(audit_refusal("train | a | width"), HasSubstr("'width' is not"));
    EXPECT_THAT(audit_refusal("train | a | width=4294967296"), HasSubstr("is not constant=value"));
    EXPECT_THAT(audit_refusal("train | a | width=-1"), HasSubstr("is not constant=value"));
    EXPECT_THAT(audit_refusal("train | a |\ntrain | a | width=2"),
                HasSubstr("line 2: the case 'a' of 'train' appears twice"));
}

TEST(Audit, EveryKernelOfAFamilyWithConstantsNeedsACase) {
    const rekindle::test::TemporaryFolder folder;
    const std::filesystem::path file = folder / "audit.txt";
    std::ofstream(file) << "train | a | width=2\n";
    EXPECT_THROW(read_audit(file, scope_of({"train", "evaluate"})), Refused);
    EXPECT_EQ(read_audit(file, scope_of({"train"})).size(), 1u);
    std::filesystem::remove(file);
    EXPECT_THROW(read_audit(file, scope_of({"train", "evaluate"})), Refused);
    const auto cases =
        read_audit(file, scope_of({"train", "evaluate"}, {})); // no constants: one case each, no file
    ASSERT_EQ(cases.size(), 2u);
    EXPECT_TRUE(cases[0].constants.empty());
}

TEST(Audit, ReadsNamesOfValues) {
    const std::array<ReflectedConstant, 3> named = {ReflectedConstant{"operation", 0},
                                                    ReflectedConstant{"input_type", 1},
                                                    ReflectedConstant{"columns", 2}};
    const auto cases = parse_audit("reduction | mean | operation=mean input_type=bfloat16 columns=8\n",
                                   {"reduction", "float32", {"reduction"}, {}, named});
    ASSERT_EQ(cases.size(), 1u);
    EXPECT_THAT(cases[0].constants,
                ElementsAre(Pair("operation", 1u), Pair("input_type", 15u), Pair("columns", 8u)));
}

TEST(Audit, RefusesUnknownNamesAndNumbersOfNamedValues) {
    const std::array<ReflectedConstant, 2> named = {ReflectedConstant{"operation", 0},
                                                    ReflectedConstant{"layout", 1}};
    const AuditScope scope{"elementwise", "float32", {"elementwise"}, {}, named};
    const std::string row = "# line 1\nelementwise | case | ";
    EXPECT_EQ(audit_refusal(row + "operation=negate layout=inline", scope), "not refused");
    EXPECT_THAT(
        audit_refusal(row + "operation=negated", scope),
        HasSubstr("line 2: 'operation=negated' does not name a value of the enumeration elementwise"));
    EXPECT_THAT(audit_refusal(row + "operation=1", scope),
                HasSubstr("line 2: 'operation=1' does not name a value"));
    EXPECT_THAT(audit_refusal(row + "layout=own", scope),
                HasSubstr("does not name a value of the enumeration layout"));
}

TEST(Audit, ReadsTheKernelsOfOneDtype) {
    const std::array<ReflectedConstant, 1> named = {ReflectedConstant{"input_type", 0}};
    const std::string text =
        "sum, sum_float64 | whole | input_type=own\nsum | float16 | input_type=float16\n";
    const auto cases = parse_audit(text, {"sums", "float64", {"sum_float64"}, {"sum"}, named});
    ASSERT_EQ(cases.size(), 1u);
    EXPECT_EQ(cases[0].kernel, "sum_float64");
    EXPECT_THAT(cases[0].constants, ElementsAre(Pair("input_type", 7u)));
    const auto others = parse_audit(text, {"sums", "float32", {"sum"}, {"sum_float64"}, named});
    ASSERT_EQ(others.size(), 2u);
    EXPECT_THAT(others[0].constants, ElementsAre(Pair("input_type", 6u)));
    EXPECT_THAT(others[1].constants, ElementsAre(Pair("input_type", 5u)));
    EXPECT_THAT(audit_refusal(text, {"sums", "float32", {"sum"}, {}, named}),
                HasSubstr("no kernel 'sum_float64'"));
}

TEST(Values, AreNumberedAsTheHostNumbersThem) {
    EXPECT_EQ(number_of("elementwise", "identity"), 0u);
    EXPECT_EQ(number_of("elementwise", "add_scalar"), 2u);
    EXPECT_EQ(number_of("draw", "dropout"), 8u);
    EXPECT_EQ(number_of("dtype", "bfloat16"), 15u);
    EXPECT_EQ(number_of("dtype", "float128"), std::nullopt);
    EXPECT_EQ(number_of("none", "sum"), std::nullopt);
}

TEST(Values, BelongToAFamilyAKernelOrEverywhere) {
    EXPECT_EQ(enumeration_of("indexing", "index_scatter", "operation"), "scatter");
    EXPECT_EQ(enumeration_of("indexing", "compact_write", "operation"), "compact");
    EXPECT_EQ(enumeration_of("indexing", "index_gather", "operation"), "");
    EXPECT_EQ(enumeration_of("reduction", "reduction", "operation"), "reduction");
    EXPECT_EQ(enumeration_of("any", "any", "input_type"), "dtype");
    EXPECT_EQ(enumeration_of("any", "any", "columns"), "");
}
