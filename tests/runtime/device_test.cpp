#include "fixture.h"

#include <rekindle/runtime/test_mode.h>

namespace rekindle::runtime::test {

using testing::HasSubstr;

TEST_F(DeviceTest, ADeviceIsDescribedAsItsDriverDescribesIt) {
    const DeviceInfo info = first_device();
    EXPECT_FALSE(info.name.empty());
    EXPECT_FALSE(info.driver_name.empty());
    EXPECT_GE(info.can.shared_bytes, 32'768u);
    EXPECT_GE(info.can.push_constant_bytes, 128u);
    EXPECT_GE(info.can.maximum_threads, 128u);
    EXPECT_GE(info.can.default_subgroup, info.can.minimum_subgroup);
    EXPECT_LE(info.can.default_subgroup, info.can.maximum_subgroup);
    EXPECT_FALSE(info.can.heaps.empty());
    EXPECT_GT(info.can.maximum_allocation_bytes, 1u << 28);
}

TEST_F(DeviceTest, OpensAndCloses) {
    const std::shared_ptr<Device> device = open();
    EXPECT_EQ(device->info().name, first_device().name);
    EXPECT_EQ(device->usable_features(), device->info().can.features);
}

} // namespace rekindle::runtime::test
