#include "fixture.h"

#include <rekindle/kernels/launchers.h>
#include <rekindle/runtime/stream.h>

#include <algorithm>
#include <cctype>

namespace rekindle::runtime::test {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;
using testing::SizeIs;
using testing::ThrowsMessage;

TEST_F(DeviceTest, DescribesADeviceAsItsDriverDoes) {
    const DeviceInfo info = first_device();
    EXPECT_THAT(info.name, Not(IsEmpty()));
    EXPECT_THAT(info.driver_name, Not(IsEmpty()));
    EXPECT_THAT(info.pci_address,
                MatchesRegex(info.type == DeviceType::cpu ? "" : "([0-9a-f]+:[0-9a-f]+:[0-9a-f]+\\.[0-7])?"));
    EXPECT_GE(info.can.shared_bytes, 32'768u);
    EXPECT_GE(info.can.push_constant_bytes, 128u);
    EXPECT_GE(info.can.maximum_threads, 128u);
    EXPECT_GE(info.can.default_subgroup, info.can.minimum_subgroup);
    EXPECT_LE(info.can.default_subgroup, info.can.maximum_subgroup);
    EXPECT_THAT(info.can.heaps, Not(IsEmpty()));
    EXPECT_GT(info.can.maximum_allocation_bytes, 1u << 28);
    EXPECT_EQ(info.can.features.contains(kernels::Feature::shared_48k), info.can.shared_bytes >= 49'152);
    EXPECT_EQ(info.can.features.contains(kernels::Feature::shared_64k), info.can.shared_bytes >= 65'536);
}

TEST_F(DeviceTest, CpuDriversComeLastAndNumbersFollowTheOrder) {
    const std::vector<DeviceInfo> devices = list_devices();
    for (std::uint32_t i = 0; i < devices.size(); ++i)
        EXPECT_EQ(devices[i].number, i);
    EXPECT_TRUE(std::ranges::is_sorted(
        devices, {}, [](const DeviceInfo& device) { return device.type == DeviceType::cpu; }));
}

TEST_F(DeviceTest, UuidsHaveTheUsualFormat) {
    DeviceInfo info;
    info.number = 3;
    for (std::uint8_t i = 0; i < 16; ++i)
        info.uuid[i] = static_cast<std::uint8_t>(i * 16 + 15 - i);
    EXPECT_EQ(info.uuid_text(), "GPU-0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0");
    EXPECT_EQ(info.address(), "gpu:3");
}

TEST_F(DeviceTest, SelectsADeviceByAnyOfItsNames) {
    const DeviceInfo info = first_device();
    const std::string number = std::to_string(info.number);
    std::string upper = info.uuid_text();
    std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
    for (const std::string& name : std::vector<std::string>{"gpu", "gpu:" + number, number, info.uuid_text(),
                                                            info.uuid_text().substr(4), upper, " gpu "})
        EXPECT_EQ(select_device(name).uuid, info.uuid) << name;
    for (const std::string name : {"gpu:99", "cpu", "GPU-00", "", "gpu:-1", "gpu:0x"})
        EXPECT_THAT([&] { select_device(name); }, ThrowsMessage<Unsupported>(HasSubstr("there is no device")))
            << name;
}

TEST_F(DeviceTest, VisibleDevicesKeepsTheDevicesItNames) {
    const std::vector<DeviceInfo> all = list_devices();
    ASSERT_THAT(all, Not(IsEmpty()));
    const std::string last = std::to_string(all.size() - 1);
    for (const std::string& list : {last, all.back().uuid_text(), " " + last + " , ", last + "," + last}) {
        environment.set("REKINDLE_VISIBLE_DEVICES", list);
        const std::vector<DeviceInfo> visible = list_devices();
        ASSERT_THAT(visible, SizeIs(1)) << list;
        EXPECT_EQ(visible[0].uuid, all.back().uuid);
        EXPECT_EQ(visible[0].number, 0u);
        EXPECT_NO_THROW(Device::open(visible[0], {.log = log.callback(), .cache_folder = cache}));
    }
    environment.set("REKINDLE_VISIBLE_DEVICES", "");
    std::string reason;
    EXPECT_THAT(list_devices(&reason), IsEmpty());
    EXPECT_EQ(reason, "REKINDLE_VISIBLE_DEVICES hides every device");
    environment.set("REKINDLE_VISIBLE_DEVICES", "0,77");
    EXPECT_THAT([] { list_devices(); }, ThrowsMessage<Error>(HasSubstr("names 77, which is not a device")));
}

TEST_F(DeviceTest, WithoutADriverTheListIsEmptyWithAReason) {
    const std::string nothing = testing::TempDir() + "rekindle-no-such-driver.json";
    environment.set("VK_ICD_FILENAMES", nothing);
    environment.set("VK_DRIVER_FILES", nothing);
    environment.unset("REKINDLE_VISIBLE_DEVICES");
    std::string reason;
    EXPECT_THAT(list_devices(&reason), IsEmpty());
    EXPECT_THAT(reason, HasSubstr("found no driver"));
    EXPECT_THAT([] { select_device("gpu"); }, ThrowsMessage<Unsupported>(HasSubstr(reason)));
}

TEST_F(DeviceTest, RefusesToOpenAnUnusableDevice) {
    DeviceInfo info = first_device();
    info.unusable = "lacks bufferDeviceAddress";
    EXPECT_THAT([&] { Device::open(info); },
                ThrowsMessage<Unsupported>(HasSubstr("it lacks bufferDeviceAddress")));
    info = first_device();
    info.uuid[0] ^= 1;
    EXPECT_THAT([&] { Device::open(info); }, ThrowsMessage<Error>(HasSubstr("no longer there")));
}

TEST_F(DeviceTest, SeveralDevicesOfOneGpuCoexist) {
    const std::shared_ptr<Device> first = open();
    const std::shared_ptr<Device> second = open();
    EXPECT_NE(first, second);
    EXPECT_EQ(first->info().uuid, second->info().uuid);
    EXPECT_EQ(first->usable_features(), first->info().can.features);
}

TEST_F(DeviceTest, ACompileOnlyDeviceRunsNothing) {
    const std::shared_ptr<Device> device = open({.compile_only = true});
    EXPECT_NO_THROW(device->prepare(kernels::fill_words.kernel));
    EXPECT_THROW(device->allocator(), Unsupported);
    EXPECT_THROW(device->make_stream(), Unsupported);
    EXPECT_THROW(device->profiler(), Unsupported);
}

} // namespace rekindle::runtime::test
