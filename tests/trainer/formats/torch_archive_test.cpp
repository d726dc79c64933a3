#include "archive_fixture.h"

#include <rekindle/foundation/error.h>
#include <rekindle/trainer/torch_archive.h>

#include <gmock/gmock.h>

#include <cmath>

namespace rekindle::trainer {
namespace {

using fixtures::golden;
using fixtures::golden_value;
using test::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

void expect_golden_values(const std::vector<mlp::NamedTensor>& tensors) {
    for (std::size_t k = 0; k < tensors.size(); ++k)
        for (std::size_t i = 0; i < tensors[k].values.size(); ++i)
            ASSERT_EQ(tensors[k].values[i], golden_value(k, i)) << tensors[k].name << " " << i;
}

std::vector<std::string> names_of(const std::vector<mlp::NamedTensor>& tensors) {
    std::vector<std::string> names;
    for (const auto& tensor : tensors)
        names.push_back(tensor.name);
    return names;
}

const std::vector<std::string> one_hidden_layer{"input_layer.weight",       "input_layer.bias",
                                                "hidden_layers.0.0.weight", "hidden_layers.0.0.bias",
                                                "hidden_layers.0.1.weight", "hidden_layers.0.1.bias",
                                                "final_norm.weight",        "final_norm.bias",
                                                "output_layer.weight",      "output_layer.bias"};

TEST(TorchArchive, ReadsStateDictsInEveryWrapper) {
    for (const char* file : {"state_dict.pt", "checkpoint.pt", "original_best_model.pt"}) {
        const auto tensors = state_dict_of(TorchArchive::read(golden(file)));
        EXPECT_EQ(names_of(tensors), one_hidden_layer) << file;
        EXPECT_THAT(tensors[0].shape, ElementsAre(32, 6));
        EXPECT_THAT(tensors[9].shape, ElementsAre(1));
        expect_golden_values(tensors);
    }
}

TEST(TorchArchive, RemovesWrapperPrefixes) {
    const auto tensors = state_dict_of(TorchArchive::read(golden("data_parallel.pt")));
    ASSERT_EQ(tensors.size(), 14U);
    EXPECT_EQ(tensors[6].name, "hidden_layers.1.0.weight");
    expect_golden_values(tensors);
}

TEST(TorchArchive, ReadsBfloat16AndProtocol4) {
    const auto tensors = state_dict_of(TorchArchive::read(golden("bfloat16.pt")));
    EXPECT_EQ(tensors.size(), 6U);
    expect_golden_values(tensors);
}

TEST(TorchArchive, LiveModulesAreInert) {
    const TorchArchive archive = TorchArchive::read(golden("original_best_model.pt"));
    const auto layers = archive.root().find("architecture")->find("hidden_layers");
    ASSERT_TRUE(layers);
    EXPECT_EQ(layers->kind(), PickleKind::object);
    EXPECT_EQ(layers->global_name(), "torch.nn.modules.container.ModuleList");
    EXPECT_EQ(archive.root().find("loss")->as_number(), 0.6931);
    EXPECT_EQ(archive.root().find("metadata")->find("val_loss")->as_number(), 0.5);
    const TorchArchive wrapped = TorchArchive::read(golden("data_parallel.pt"));
    EXPECT_EQ(wrapped.root().find("model")->global_name(), "torch.nn.parallel.data_parallel.DataParallel");
}

class Views : public ::testing::TestWithParam<const char*> {
  protected:
    Views() : archive(TorchArchive::read(golden(GetParam()))) {}
    TensorReference reference(const std::string& name) const {
        return archive.tensor_reference(archive.root().find(name).value()).value();
    }
    std::vector<double> values(const std::string& name) const {
        return archive.read_float64(reference(name));
    }
    TorchArchive archive;
};

TEST_P(Views, FollowOffsetsAndStrides) {
    EXPECT_EQ(reference("base").storage, reference("transposed").storage);
    const auto transposed = values("transposed");
    for (std::size_t i = 0; i < 24; ++i)
        EXPECT_EQ(transposed[i], static_cast<double>(i % 4 * 6 + i / 4));
    EXPECT_THAT(values("column"), ElementsAre(2, 8, 14, 20));
    EXPECT_THAT(values("block"), ElementsAre(10, 11, 16, 17));
    EXPECT_THAT(values("reversed_steps"), ElementsAre(0, 3, 12, 15));
    EXPECT_THAT(values("expanded"), ElementsAre(1.5, 1.5, 1.5, -2.5, -2.5, -2.5));
    EXPECT_THAT(values("scalar"), ElementsAre(3.25));
    EXPECT_TRUE(reference("scalar").shape.empty());
    EXPECT_THAT(values("empty"), ElementsAre());
    EXPECT_THAT(reference("empty").shape, ElementsAre(0, 5));
    EXPECT_THAT(values("parameter"), ElementsAre(0.25, 0.5));
}

TEST_P(Views, ConvertEveryElementType) {
    EXPECT_THAT(values("float64"), ElementsAre(0.1, -1e300));
    EXPECT_THAT(values("float16"), ElementsAre(0.5, -65504, 5.960464477539063e-08, INFINITY));
    EXPECT_THAT(values("bfloat16"), ElementsAre(0.5, -3, 9.969209968386869e+37));
    EXPECT_THAT(values("int64"), ElementsAre(-1099511627776.0, 5));
    for (const char* name : {"int32", "int16", "int8"})
        EXPECT_THAT(values(name), ElementsAre(-2, 0, 1, 3)) << name;
    EXPECT_THAT(values("uint8"), ElementsAre(0, 1, 255));
    EXPECT_THAT(values("boolean"), ElementsAre(1, 0));
    EXPECT_THAT(archive.read_float32(reference("float64")), ElementsAre(0.1F, -INFINITY));
}

INSTANTIATE_TEST_SUITE_P(StoredAndDeflated, Views, ::testing::Values("views.pt", "views_deflated.pt"));

std::string archive_refusal(const std::string& bytes) {
    try {
        state_dict_of(TorchArchive::parse(bytes, "file.pt"));
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), ExitStatus::usage);
        EXPECT_THAT(error.where(), HasSubstr("file.pt"));
        return error.render();
    }
    return "accepted";
}

TEST(TorchArchive, SaysHowToConvertALegacyFile) {
    EXPECT_THAT(archive_refusal(read_file(golden("legacy.pt"))), HasSubstr("torch.save(torch.load("));
}

TEST(TorchArchive, RefusesOtherFiles) {
    EXPECT_THAT(archive_refusal(""), HasSubstr("not a PyTorch archive"));
    EXPECT_THAT(archive_refusal("PK"), HasSubstr("too short"));
    EXPECT_THAT(archive_refusal("PK" + std::string(100, 'x')), HasSubstr("truncated"));
    const std::string whole = read_file(golden("state_dict.pt"));
    EXPECT_THAT(archive_refusal(whole.substr(0, whole.size() / 2)), HasSubstr("truncated"));
    std::string damaged = whole;
    damaged[whole.find("data/0") + 200] ^= 1;
    EXPECT_THAT(archive_refusal(damaged), HasSubstr("checksum"));
}

/// An archive with one tensor whose description is given.
std::string with_tensor(std::int64_t storage_elements, std::int64_t offset, std::vector<std::int64_t> shape,
                        std::vector<std::int64_t> strides, const std::string& type = "FloatStorage") {
    TorchArchiveBuilder builder;
    PickleDocument& document = builder.document();
    const std::vector<float> values(16, 1.0F);
    const std::vector<std::size_t> extents{16};
    builder.tensor(values, extents); // record data/0
    const auto tuple = [&](const std::vector<std::int64_t>& numbers) {
        std::vector<PickleId> ids;
        for (const std::int64_t number : numbers)
            ids.push_back(document.integer(number));
        return document.tuple(std::move(ids));
    };
    const PickleId storage = document.persistent(
        document.tuple({document.string("storage"), document.global("torch", type), document.string("0"),
                        document.string("cpu"), document.integer(storage_elements)}));
    const PickleId call =
        document.object(document.global("torch._utils", "_rebuild_tensor_v2"),
                        document.tuple({storage, document.integer(offset), tuple(shape), tuple(strides)}));
    const PickleId root = document.dict();
    document.insert(root, "tensor", call);
    return builder.finish(root, "file");
}

TEST(TorchArchive, RefusesTensorsWithWrongSizes) {
    constexpr std::int64_t huge = std::int64_t{1} << 62;
    EXPECT_EQ(archive_refusal(with_tensor(16, 0, {4, 4}, {4, 1})), "accepted");
    EXPECT_EQ(archive_refusal(with_tensor(16, 15, {1}, {1})), "accepted");
    EXPECT_THAT(archive_refusal(with_tensor(16, 16, {1}, {1})), HasSubstr("reaches element 16"));
    EXPECT_THAT(archive_refusal(with_tensor(16, 1, {4, 4}, {4, 1})), HasSubstr("reaches element 16"));
    EXPECT_THAT(archive_refusal(with_tensor(17, 0, {17}, {1})), HasSubstr("too few for 17"));
    EXPECT_THAT(archive_refusal(with_tensor(16, -1, {1}, {1})), HasSubstr("not torch.save's"));
    EXPECT_THAT(archive_refusal(with_tensor(16, 0, {-1}, {1})), HasSubstr("size and stride"));
    EXPECT_THAT(archive_refusal(with_tensor(16, 0, {4}, {4, 1})), HasSubstr("size and stride"));
    EXPECT_THAT(archive_refusal(with_tensor(16, 0, {huge, huge}, {0, 0})), HasSubstr("more than"));
    EXPECT_THAT(archive_refusal(with_tensor(16, 0, {2, 2}, {huge, huge})), HasSubstr("outside"));
    EXPECT_THAT(archive_refusal(with_tensor(16, huge, {2}, {huge})), HasSubstr("outside"));
    EXPECT_THAT(archive_refusal(with_tensor(huge, 0, {1 << 20}, {1})), HasSubstr("too few for"));
    EXPECT_THAT(archive_refusal(with_tensor(16, 0, {1 << 25}, {0})),
                HasSubstr("more than 16,777,216 elements"));
    EXPECT_THAT(archive_refusal(with_tensor(16, 0, {4}, {1}, "QInt8Storage")), HasSubstr("QInt8Storage"));
}

TEST(TorchArchive, RefusesAnArchiveWithoutTensors) {
    TorchArchiveBuilder builder;
    const PickleId root = builder.document().dict();
    builder.document().insert(root, "model_state_dict", builder.document().integer(3));
    EXPECT_THAT(archive_refusal(builder.finish(root, "file")), HasSubstr("no state dict"));
}

TEST(TorchArchive, WritesWhatItReads) {
    const TemporaryFolder folder;
    std::vector<mlp::NamedTensor> tensors{
        {"input_layer.weight", {2, 3}, {1, 2, 3, 4, 5, -0.0F}}, {"scalar", {}, {NAN}}, {"empty", {0, 4}, {}}};
    write_state_dict(folder / "model.pt", tensors);
    const std::string bytes = read_file(folder / "model.pt");
    for (const char* record : {"model/data/0", "model/data/1", "model/data.pkl"}) {
        const std::size_t name = bytes.find(record);
        ASSERT_NE(name, std::string::npos);
        const std::size_t header = name - 30;
        const std::size_t extra = static_cast<unsigned char>(bytes[header + 28]);
        EXPECT_EQ((name + std::string_view(record).size() + extra) % 64, 0U) << record << " is not aligned";
    }
    const auto read = state_dict_of(TorchArchive::read(folder / "model.pt"));
    ASSERT_EQ(read.size(), 3U);
    EXPECT_EQ(read[0].values, tensors[0].values);
    EXPECT_TRUE(std::signbit(read[0].values[5]));
    EXPECT_TRUE(std::isnan(read[1].values.at(0)));
    EXPECT_EQ(read[2].shape, tensors[2].shape);
    write_state_dict(folder / "model.pt", tensors);
    EXPECT_EQ(read_file(folder / "model.pt"), bytes) << "equal content gives equal bytes";
}

TEST(TorchArchive, SurvivesDamage) {
    int accepted = 0;
    for (const char* file : {"views.pt", "views_deflated.pt", "bfloat16.pt"}) {
        const std::string original = read_file(golden(file));
        for (std::uint32_t round = 0; round < 1500; ++round) {
            PhiloxStream random(11, RandomPurpose::test, static_cast<std::uint32_t>(original.size()), round);
            std::string damaged = original;
            // Half of the damage goes where it hurts most: the directory at the end.
            const auto size = static_cast<std::uint32_t>(damaged.size());
            const std::uint32_t first = round % 2 == 0 ? 0 : size - size / 4;
            for (std::uint32_t i = 0; i <= round % 3; ++i)
                damaged[first + random.next_below(size - first)] = static_cast<char>(random.next_below(256));
            if (round % 10 == 0)
                damaged.resize(random.next_below(size));
            try {
                const TorchArchive archive = TorchArchive::parse(damaged, "damaged");
                state_dict_of(archive);
                ++accepted;
            } catch (const Error&) {
            }
        }
    }
    EXPECT_GT(accepted, 100);
    EXPECT_LT(accepted, 4000);
}

} // namespace
} // namespace rekindle::trainer
