#include <rekindle/products/device_parameters.h>

#include <gtest/gtest.h>

namespace rekindle::products {
namespace {

TEST(Rates, SurviveTheirText) {
    DeviceParameters device;
    set_default_rates(device);
    DeviceParameters read;
    read.compute_units = device.compute_units;
    ASSERT_TRUE(read_rates(read, rates_text(device)));
    for (const Rate& rate : rates)
        EXPECT_NEAR(read.*rate.value / device.*rate.value, 1, 1e-5) << rate.name;
}

TEST(Rates, ALineThatIsIncompleteOrImpossibleChangesNothing) {
    DeviceParameters device;
    set_default_rates(device);
    const DeviceParameters before = device;
    const std::string text = rates_text(device);
    const std::string all_but_last = text.substr(0, text.rfind(' '));
    for (const std::string& wrong : {std::string(), all_but_last, all_but_last + " launch_seconds=-1",
                                     all_but_last + " launch_seconds=nan", all_but_last + " launch_seconds=",
                                     all_but_last + " relaunch_seconds=1"}) {
        EXPECT_FALSE(read_rates(device, wrong)) << wrong;
        EXPECT_EQ(device, before) << wrong;
    }
}

} // namespace
} // namespace rekindle::products
