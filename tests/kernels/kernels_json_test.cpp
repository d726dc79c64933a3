#include "module.h"
#include "table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

using namespace rekindle::kernels;
using namespace rekindle::kernels::generator;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

namespace {

constexpr std::string_view two_dtypes = R"json([
  {"family": "product", "source": "product/product.slang", "dtypes": ["float32", "float64"], "needs": ["subgroup_basic"],
   "kernels": [
     {"name": "product_{rows}x{columns}", "threads": "{threads}", "brief": "Tiles of {rows} x {columns}",
      "body": "multiply<{rows}, {columns}, {threads}>(group, thread)",
      "variants": [
        {"rows": 32, "columns": 16, "threads": 64},
        {"rows": 128, "columns": 128, "threads": 256, "needs": ["matrix_quads"], "dtypes": ["float32"]}]},
     {"name": "product_combine", "threads": 256, "brief": "Sums parts", "body": "combine(group, thread)"}]},
  {"family": "units", "source": "product/units.slang",
   "kernels": [
     {"name": "units_{unit}", "threads": 32, "brief": "On units of {unit}", "body": "multiply<{unit}>(thread)",
      "variants": [{"unit": "8x16x16"}]}]}
])json";

std::string refusal(const std::string& text) {
    try {
        static_cast<void>(parse_table(text));
    } catch (const Refused& e) {
        return e.what();
    }
    return "not refused";
}

/// A table of one family with these keys beside its name and source.
std::string one_family(const std::string& keys) {
    return R"json([{"family": "fill", "source": "fill/fill.slang", )json" + keys + "}]";
}
std::string one_kernel(const std::string& keys) {
    return one_family(R"json("kernels": [{"name": "fill_words", )json" + keys + "}]");
}

TEST(KernelsJson, HasAModuleForEachDtype) {
    const std::vector<TableModule> modules = parse_table(two_dtypes);
    ASSERT_EQ(modules.size(), 3u);
    EXPECT_EQ(modules[0].name, "product");
    EXPECT_EQ(modules[1].name, "product_float64");
    EXPECT_EQ(modules[1].needs, (Features{Feature::subgroup_basic, Feature::float64}));
    ASSERT_EQ(modules[0].entries.size(), 3u);
    ASSERT_EQ(modules[1].entries.size(), 2u) << "one variant is for float32 only";
    const TableEntry& large = modules[0].entries[1];
    EXPECT_EQ(large.name, "product_128x128");
    EXPECT_EQ(large.brief, "Tiles of 128 x 128, in float32");
    EXPECT_EQ(large.body, "multiply<128, 128, 256>(group, thread)");
    EXPECT_EQ(large.threads, 256u);
    EXPECT_EQ(large.needs, (Features{Feature::subgroup_basic, Feature::matrix_quads}));
    EXPECT_EQ(large.variants, "product");
    EXPECT_THAT(large.numbers, ElementsAre(Pair("rows", 128), Pair("columns", 128), Pair("threads", 256)));
    EXPECT_EQ(modules[1].entries[0].name, "product_32x16_float64");
    EXPECT_EQ(modules[1].entries[1].name, "product_combine_float64");
    EXPECT_TRUE(modules[1].entries[1].variants.empty());
}

TEST(KernelsJson, AUnitIsAFeatureAndIsWrittenAsEachPlaceNeeds) {
    const TableEntry entry = parse_table(two_dtypes)[2].entries[0];
    EXPECT_EQ(entry.name, "units_8x16x16");
    EXPECT_EQ(entry.brief, "On units of 8 x 16 x 16");
    EXPECT_EQ(entry.body, "multiply<8, 16, 16>(thread)");
    EXPECT_EQ(entry.unit, Features(Feature::matrix_8x16x16));
    EXPECT_EQ(entry.needs, Features(Feature::matrix_8x16x16));
}

TEST(KernelsJson, WritesTheEntryPoints) {
    const std::string source = module_source(parse_table(two_dtypes)[1]);
    EXPECT_THAT(source, HasSubstr("#define REKINDLE_FLOAT64\n#include \"product/product.slang\"\n"));
    EXPECT_THAT(
        source,
        HasSubstr("[numthreads(64, 1, 1)]\nvoid product_32x16_float64(uint3 group: SV_GroupID, uint thread: "
                  "SV_GroupIndex) {\n    multiply<32, 16, 64>(group, thread);\n}"));
}

TEST(KernelsJson, RefusesMistakesAndNamesTheFamilyAndTheKernel) {
    const std::string rest = R"json("threads": 64, "brief": "Fills", "body": "fill(thread)")json";
    EXPECT_EQ(refusal(one_kernel(rest)), "not refused");
    EXPECT_THAT(refusal("{"), HasSubstr("parse error"));
    EXPECT_THAT(refusal("[]"), HasSubstr("must be a list of families"));
    EXPECT_THAT(refusal(one_family(R"json("kernel": [])json")),
                HasSubstr("the family fill: unknown key 'kernel'"));
    EXPECT_THAT(refusal(one_family(R"json("needs": [])json")), HasSubstr("'kernels' is missing"));
    EXPECT_THAT(refusal(one_kernel(R"json("threads": 64, "brief": "Fills")json")),
                HasSubstr("the family fill: the kernel fill_words: 'body' is missing"));
    EXPECT_THAT(refusal(one_kernel(R"json("brief": "Fills", "body": "fill()")json")),
                HasSubstr("'threads' is missing"));
    EXPECT_THAT(refusal(one_kernel(R"json("threads": "many", "brief": "Fills", "body": "fill()")json")),
                HasSubstr("'threads' must be a number"));
    EXPECT_THAT(refusal(one_kernel(rest + R"json(, "needs": ["float8"])json")),
                HasSubstr("'float8' is not a feature"));
    EXPECT_THAT(refusal(one_kernel(rest + R"json(, "dtypes": ["half"])json")),
                HasSubstr("'half' is not a dtype"));
    EXPECT_THAT(refusal(one_kernel(rest + R"json(, "variants": [{"rows": 8}])json")),
                HasSubstr("must contain a variable such as {rows}"));
    EXPECT_THAT(refusal(one_kernel(R"json("threads": 64, "brief": "Fills {rows}", "body": "fill()")json")),
                HasSubstr("no value for {rows}"));
    EXPECT_THAT(refusal(R"json([{"family": "fill", "source": "fill/other.slang", "kernels": [{}]}])json"),
                HasSubstr("'source' must be a file with the family's name"));
    const std::string kernel = R"json({"name": "fill_words", )json" + rest + "}";
    EXPECT_THAT(refusal(one_family(R"json("kernels": [)json" + kernel + "," + kernel + "]")),
                HasSubstr("two kernels have the name 'fill_words'"));
}

} // namespace
