#include "archive_fixture.h"

#include <rekindle/foundation/error.h>
#include <rekindle/trainer/safetensors.h>

#include <gmock/gmock.h>

namespace rekindle::trainer {
namespace {

using test::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string file_of(const std::string& header, const std::string& data = "", std::uint64_t announced = 0) {
    if (announced == 0)
        announced = header.size();
    std::string bytes;
    for (int i = 0; i < 8; ++i)
        bytes.push_back(static_cast<char>((announced >> (8 * i)) & 0xffU));
    return bytes + header + data;
}

std::string safetensors_refusal(const std::string& bytes) {
    try {
        parse_safetensors(bytes, "file.safetensors");
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), ExitStatus::usage);
        EXPECT_EQ(error.where(), "file.safetensors");
        return error.render();
    }
    return "accepted";
}

TEST(SafeTensors, ReadsTheFormat) {
    // Written by hand from the format's specification.
    const std::string bytes = file_of(
        R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2],"data_offsets":[8,12]},)"
        R"("a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},"none":{"dtype":"I64","shape":[0],"data_offsets":[12,12]}}  )",
        std::string("\x00\x00\x80\x3f\x00\x00\x00\xc0\x80\x3f\x40\xc0", 12));
    const SafeTensors file = parse_safetensors(bytes, "file");
    EXPECT_EQ(file.metadata.at("format"), "pt");
    ASSERT_EQ(file.tensors.size(), 3U);
    EXPECT_EQ(file.tensors[0].name, "a");
    EXPECT_THAT(file.tensors[0].shape, ElementsAre(1, 2));
    EXPECT_THAT(file.tensors[0].values, ElementsAre(1.0F, -2.0F));
    EXPECT_THAT(file.tensors[1].values, ElementsAre(1.0F, -3.0F));
    EXPECT_THAT(file.tensors[2].values, ElementsAre());
}

TEST(SafeTensors, WritesWhatItReads) {
    const TemporaryFolder folder;
    const std::vector<mlp::NamedTensor> tensors{
        {"z", {2, 2}, {1, 2, 3, 4}}, {"a \"quoted\"", {}, {5}}, {"empty", {0}, {}}};
    write_safetensors(folder / "model.safetensors", tensors, {{"seed", "42"}});
    const SafeTensors file = read_safetensors(folder / "model.safetensors");
    ASSERT_EQ(file.tensors.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
        const auto found = std::ranges::find(file.tensors, tensors[i].name, &mlp::NamedTensor::name);
        ASSERT_NE(found, file.tensors.end());
        EXPECT_EQ(found->shape, tensors[i].shape);
        EXPECT_EQ(found->values, tensors[i].values);
    }
    EXPECT_EQ(file.metadata.at("seed"), "42");
    const std::string bytes = read_file(folder / "model.safetensors");
    EXPECT_EQ((bytes.size() - 5 * sizeof(float)) % 64, 0U) << "the data is aligned";
}

TEST(SafeTensors, RefusesHostileHeaders) {
    EXPECT_THAT(safetensors_refusal(""), HasSubstr("0 bytes"));
    EXPECT_THAT(safetensors_refusal(file_of("{}", "", 3)), HasSubstr("announces 3 bytes"));
    EXPECT_THAT(safetensors_refusal(file_of("{}", "", ~std::uint64_t{0})),
                HasSubstr("announces 18,446,744,073,709,551,615 bytes"));
    EXPECT_THAT(safetensors_refusal(file_of("[]")), HasSubstr("not a JSON object"));
    EXPECT_THAT(safetensors_refusal(file_of("{\"a\":")), HasSubstr("not JSON"));
    EXPECT_THAT(safetensors_refusal(file_of("{\"a\":" + std::string(100'000, '['))), HasSubstr("nested"));
    EXPECT_THAT(safetensors_refusal(file_of("{}", "x")), HasSubstr("1 byte of data belongs to no tensor"));
    const auto tensor = [](const std::string& type, const std::string& shape, const std::string& offsets) {
        return file_of("{\"a\":{\"dtype\":\"" + type + "\",\"shape\":" + shape +
                           ",\"data_offsets\":" + offsets + "}}",
                       "12345678");
    };
    EXPECT_EQ(safetensors_refusal(tensor("F32", "[2]", "[0,8]")), "accepted");
    EXPECT_THAT(safetensors_refusal(tensor("F32", "[3]", "[0,8]")), HasSubstr("contradict"));
    EXPECT_THAT(safetensors_refusal(tensor("F32", "[4]", "[0,16]")), HasSubstr("of 8"));
    EXPECT_THAT(safetensors_refusal(tensor("F32", "[1]", "[4,8]")), HasSubstr("is at bytes"));
    EXPECT_THAT(safetensors_refusal(tensor("F32", "[2]", "[8,0]")), HasSubstr("contradict"));
    EXPECT_THAT(safetensors_refusal(tensor("F32", "[-2]", "[0,8]")), HasSubstr("whole numbers"));
    EXPECT_THAT(safetensors_refusal(tensor("F32", "[4294967296,4294967296]", "[0,8]")),
                HasSubstr("too large"));
    EXPECT_THAT(safetensors_refusal(tensor("F32", "[4611686018427387904]", "[0,8]")),
                HasSubstr("contradict"));
    EXPECT_THAT(safetensors_refusal(tensor("F9", "[2]", "[0,8]")), HasSubstr("type"));
    EXPECT_THAT(safetensors_refusal(tensor("F32", "[2]", "[0]")), HasSubstr("whole numbers"));
    EXPECT_THAT(safetensors_refusal(file_of(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                                            R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})")),
                HasSubstr("twice"));
    EXPECT_THAT(safetensors_refusal(file_of(R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},)"
                                            R"("b":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}})",
                                            "12345678")),
                HasSubstr("is at bytes"))
        << "overlapping tensors";
    EXPECT_THAT(safetensors_refusal(file_of(R"({"__metadata__":{"a":1}})")), HasSubstr("not text"));
}

TEST(SafeTensors, SurvivesDamage) {
    const std::string original =
        file_of(R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
                R"("b":{"dtype":"BF16","shape":[2],"data_offsets":[8,12]}})",
                "123456789012");
    int accepted = 0;
    for (std::uint32_t round = 0; round < 4000; ++round) {
        PhiloxStream random(13, RandomPurpose::test, 0, round);
        std::string damaged = original;
        for (std::uint32_t i = 0; i <= round % 3; ++i)
            damaged[random.next_below(static_cast<std::uint32_t>(damaged.size()))] =
                static_cast<char>(random.next_below(256));
        if (round % 8 == 0)
            damaged.resize(random.next_below(static_cast<std::uint32_t>(damaged.size())));
        try {
            parse_safetensors(damaged, "damaged");
            ++accepted;
        } catch (const Error&) {
        }
    }
    EXPECT_GT(accepted, 100);
    EXPECT_LT(accepted, 3900);
}

} // namespace
} // namespace rekindle::trainer
