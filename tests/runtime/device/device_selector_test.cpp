/// Every form of a device's name, and texts that are not device names.

#include <rekindle/runtime/device_selector.h>

#include <gtest/gtest.h>

namespace rekindle::runtime {
namespace {

using Kind = DeviceSelector::Kind;
using Numbers = std::vector<std::uint32_t>;

constexpr const char* uuid = "0a1b2c3d-0000-1111-2222-333344445555";

void expect(const std::string& written, Kind kind, std::uint32_t number, bool must_be_gpu,
            const std::string& text) {
    const auto selector = DeviceSelector::parse(written);
    ASSERT_TRUE(selector) << written;
    EXPECT_EQ(selector->kind, kind) << written;
    EXPECT_EQ(selector->number, number) << written;
    EXPECT_EQ(selector->must_be_gpu, must_be_gpu) << written;
    EXPECT_EQ(selector->text, text) << written;
}

TEST(DeviceSelector, ReadsWords) {
    expect("auto", Kind::automatic, 0, false, "auto");
    expect(" AUTO\t", Kind::automatic, 0, false, "auto");
    expect("cpu", Kind::cpu, 0, false, "cpu");
    expect("cpu:0", Kind::cpu, 0, false, "cpu");
    for (const char* word : {"gpu", "cuda", "hip", "rocm", "vulkan", "rvk", "GPU"})
        expect(word, Kind::any_gpu, 0, true, "gpu");
}

TEST(DeviceSelector, ReadsNumbers) {
    for (const char* address : {"gpu:7", "vulkan:7", "rvk:7", "Gpu:07"})
        expect(address, Kind::number, 7, false, "gpu:7");
    expect("cuda:1", Kind::number, 1, true, "cuda:1");
    expect("HIP:2", Kind::number, 2, true, "hip:2");
    expect("rocm:3", Kind::number, 3, true, "rocm:3");
    expect("4", Kind::number, 4, true, "cuda:4");
}

TEST(DeviceSelector, ReadsUuids) {
    expect(uuid, Kind::uuid, 0, false, uuid);
    expect("GPU-0A1B2C3D-0000-1111-2222-333344445555", Kind::uuid, 0, false, std::string("gpu-") + uuid);
}

TEST(DeviceSelector, RefusesEverythingElse) {
    for (const char* written : {"",
                                " ",
                                "gpu:",
                                "gpu:-1",
                                "gpu:+1",
                                "gpu: 1",
                                "gpu:65536",
                                "gpu:0x1",
                                "gpu0",
                                "gpus",
                                ":0",
                                "0,1",
                                "-1",
                                "cpu:1",
                                "auto:0",
                                "tpu",
                                "tpu:0",
                                "GPU-0a1b2c3d-0000",
                                "gpu:0a1b2c3d-0000-1111-2222-333344445555",
                                "------------------------------------"})
        EXPECT_FALSE(DeviceSelector::parse(written)) << "\"" << written << "\"";
}

TEST(DeviceSelector, ItsTextMeansTheSame) {
    for (const char* written : {"auto", "cpu", "cuda", "3", "gpu:3", "hip:3", uuid}) {
        const auto selector = DeviceSelector::parse(written);
        ASSERT_TRUE(selector) << written;
        expect(selector->text, selector->kind, selector->number, selector->must_be_gpu, selector->text);
    }
}

TEST(DeviceSelector, EntriesOfAListAreNumbersAndUuids) {
    EXPECT_EQ(DeviceSelector::parse_number_or_uuid(" 2 ")->number, 2u);
    EXPECT_EQ(DeviceSelector::parse_number_or_uuid(uuid)->kind, Kind::uuid);
    for (const char* written : {"", "gpu", "gpu:0", "cuda:0", "auto", "cpu", "-1"})
        EXPECT_FALSE(DeviceSelector::parse_number_or_uuid(written)) << written;
}

TEST(DeviceSelector, ReadsListsOfNumbers) {
    EXPECT_EQ(DeviceSelector::parse_numbers("0"), Numbers{0});
    EXPECT_EQ(DeviceSelector::parse_numbers("1, 0 ,1"), (Numbers{1, 0, 1}));
    for (const char* written : {"", ",", "0,", ",0", "0;1", "0,,1", "0 1", "+1", "-1", "x", "gpu:0", "65536"})
        EXPECT_FALSE(DeviceSelector::parse_numbers(written)) << "\"" << written << "\"";
}

TEST(DeviceSelector, NamesOneDevice) {
    DeviceInfo device;
    device.number = 1;
    device.uuid = {0x0a, 0x1b, 0x2c, 0x3d, 0, 0, 0x11, 0x11, 0x22, 0x22, 0x33, 0x33, 0x44, 0x44, 0x55, 0x55};
    for (const std::string& written :
         {std::string("gpu:1"), std::string("1"), std::string(uuid), device.uuid_text()})
        EXPECT_TRUE(DeviceSelector::parse(written)->names(device)) << written;
    for (const char* written : {"gpu:0", "gpu", "cpu", "auto", "0a1b2c3d-0000-1111-2222-333344445556"})
        EXPECT_FALSE(DeviceSelector::parse(written)->names(device)) << written;
}

} // namespace
} // namespace rekindle::runtime
