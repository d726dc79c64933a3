#include "reflection.h"
#include "writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

using namespace rekindle::kernels::generator;
using testing::HasSubstr;
using testing::Not;

namespace {

std::string field(const std::string& name, const std::string& type, int offset, int bytes) {
    return R"({"name": ")" + name + R"(", "type": )" + type +
           R"(, "binding": {"kind": "uniform", "offset": )" + std::to_string(offset) + R"(, "size": )" +
           std::to_string(bytes) + "}}";
}

std::string scalar(const std::string& type) {
    return R"({"kind": "scalar", "scalarType": ")" + type + R"("})";
}

/// slangc's reflection of a module with a push-constant block of these fields; `more` are additional
/// parameters.
std::string reflection(const std::string& fields, int bytes, const std::string& more = {}) {
    return R"({"parameters": [{"name": "parameters", "binding": {"kind": "pushConstantBuffer", "index": 0},
        "type": {"kind": "constantBuffer", "elementVarLayout": {"type": {"kind": "struct", "fields": [)" +
           fields + R"(]}, "binding": {"kind": "uniform", "offset": 0, "size": )" + std::to_string(bytes) +
           "}}}}" + more + R"(], "entryPoints": [{"name": "kernel", "threadGroupSize": [64, 1, 1]}]})";
}

template <class F>
std::string refusal_of(F&& f) {
    try {
        f();
    } catch (const Refused& e) {
        return e.what();
    }
    return "not refused";
}

/// With one entry, as every family has.
Family tiled_matmul() {
    Family family;
    family.name = "tiled_matmul";
    TableEntry entry;
    entry.family = "tiled_matmul";
    entry.name = "kernel";
    entry.brief = "Does something";
    family.entries = {entry};
    return family;
}

std::string header_of(const Family& family) {
    return family_header(family, {&family, 1});
}

} // namespace

TEST(Reflection, FieldsBecomeAStructWithPaddingForGaps) {
    Family family = tiled_matmul();
    family.reflection = parse_reflection(reflection(field("rate", scalar("float32"), 0, 4) + "," +
                                                        field("weights", scalar("uint64"), 8, 8) + "," +
                                                        field("count", scalar("int32"), 16, 4),
                                                    24));
    const std::string header = header_of(family);
    EXPECT_THAT(header, HasSubstr("struct TiledMatmulParameters {\n    float rate = 0;\n"
                                  "    std::uint32_t padding_0 = 0;\n    std::uint64_t weights = 0;\n"
                                  "    std::int32_t count = 0;\n    std::uint32_t padding_1 = 0;\n};"));
    EXPECT_THAT(header, HasSubstr("offsetof(TiledMatmulParameters, count) == 16"));
    EXPECT_THAT(header, HasSubstr("sizeof(TiledMatmulParameters) == 24"));
    EXPECT_EQ(family.reflection.entries.at(0).threads[0], 64u);
}

TEST(FamilyHeader, VariantsAreAnArrayWithTheirNumbers) {
    Family family = tiled_matmul();
    family.entries.front().variants = "matmul";
    family.entries.front().numbers = {{"rows", 32}, {"columns", 64}};
    family.entries.front().unit = Feature::matrix_8x8x8;
    const std::string header = header_of(family);
    EXPECT_THAT(
        header,
        HasSubstr("struct MatmulVariant {\n    const Kernel* kernel = nullptr;\n"
                  "    std::uint32_t rows = 0;\n    std::uint32_t columns = 0;\n    Feature unit{};"));
    EXPECT_THAT(header,
                HasSubstr("MatmulVariant matmul_variants[] = {\n"
                          "    {&detail::kernels_of_tiled_matmul[0], 32, 64, Feature::matrix_8x8x8},\n};"));
    family.entries.push_back(family.entries.front());
    family.entries.back().numbers.pop_back();
    EXPECT_THAT(refusal_of([&] { header_of(family); }), HasSubstr("variants of matmul have different keys"));
}

TEST(Reflection, ConstantsBecomeAStructWithTheirInitialValues) {
    Family family = tiled_matmul();
    family.reflection.constants = {{"depth", 4}, {"edges", 7}};
    family.initial_values = {{4, 16}};
    EXPECT_THAT(header_of(family), HasSubstr("struct TiledMatmulConstants {\n    std::uint32_t depth = "
                                             "16u;\n    std::uint32_t edges = 0u;\n"));
    EXPECT_THAT(header_of(family), HasSubstr("using Constants = TiledMatmulConstants;"));
    family.reflection.constants.clear();
    EXPECT_THAT(header_of(family), Not(HasSubstr("TiledMatmulConstants")));
}

TEST(Reflection, BlocksAbove128BytesAreRefused) {
    EXPECT_NO_THROW(parse_reflection(reflection(field("a", scalar("uint64"), 120, 8), 128)));
    EXPECT_THAT(refusal_of([] { parse_reflection(reflection(field("a", scalar("uint64"), 120, 8), 136)); }),
                HasSubstr("136 bytes"));
}

TEST(Reflection, FieldsThatCppLaysOutDifferentlyAreRefused) {
    EXPECT_THAT(refusal_of([] { parse_reflection(reflection(field("flag", scalar("bool"), 0, 4), 4)); }),
                HasSubstr("'flag'"));
    EXPECT_THAT(
        refusal_of([] { parse_reflection(reflection(field("v", R"({"kind": "vector"})", 0, 16), 16)); }),
        HasSubstr("'v'"));
}

TEST(Reflection, ConstantsAreUnsignedAndOtherBindingsAreRefused) {
    const std::string block = field("a", scalar("uint64"), 0, 8);
    const auto constant = [](const std::string& type) {
        return R"(, {"name": "width", "binding": {"kind": "specializationConstant", "index": 2}, "type": )" +
               scalar(type) + "}";
    };
    const Reflection read = parse_reflection(reflection(block, 8, constant("uint32")));
    ASSERT_EQ(read.constants.size(), 1u);
    EXPECT_EQ(read.constants[0].name, "width");
    EXPECT_EQ(read.constants[0].id, 2u);
    EXPECT_THAT(refusal_of([&] { parse_reflection(reflection(block, 8, constant("float32"))); }),
                HasSubstr("'width' is not a uint"));
    EXPECT_THAT(
        refusal_of([&] {
            parse_reflection(reflection(
                block, 8, R"(, {"name": "x", "binding": {"kind": "descriptorTableSlot", "index": 0}})"));
        }),
        HasSubstr("descriptorTableSlot"));
}

TEST(Reflection, OtherTextIsRefused) {
    EXPECT_THROW(parse_reflection(""), Refused);
    EXPECT_THROW(parse_reflection("{}"), Refused);
    EXPECT_THROW(parse_reflection(R"({"parameters": [3], "entryPoints": []})"), Refused);
}
