#include "fixture.h"

#include <rekindle/runtime/test_mode.h>

namespace rekindle::runtime::test {

using testing::HasSubstr;
using testing::ThrowsMessage;

class TestModeTest : public testing::Test {
  protected:
    TestModeTest() {
        for (const char* name : {"REKINDLE_POISON", "REKINDLE_GUARD_PAGES", "REKINDLE_RANDOM_ORDER",
                                 "REKINDLE_VALIDATION", "REKINDLE_FAULT", "REKINDLE_WATCHDOG_SECONDS"})
            environment.unset(name);
    }
    Environment environment;
};

TEST_F(TestModeTest, EverythingIsOffByDefault) {
    const TestMode mode = test_mode_from_environment();
    EXPECT_FALSE(mode.poison || mode.guard_pages || mode.validation || mode.random_order);
    EXPECT_EQ(mode.fault, TestMode::Fault::none);
    EXPECT_EQ(mode.watchdog(false), 30);
    EXPECT_EQ(mode.watchdog(true), 600);
}

TEST_F(TestModeTest, ReadsEachVariable) {
    environment.set("REKINDLE_POISON", "1");
    environment.set("REKINDLE_GUARD_PAGES", "1");
    environment.set("REKINDLE_VALIDATION", "0");
    environment.set("REKINDLE_RANDOM_ORDER", "18446744073709551615");
    environment.set("REKINDLE_WATCHDOG_SECONDS", "0.25");
    environment.set("REKINDLE_FAULT", "hang:3");
    const TestMode mode = test_mode_from_environment();
    EXPECT_TRUE(mode.poison);
    EXPECT_TRUE(mode.guard_pages);
    EXPECT_FALSE(mode.validation);
    EXPECT_EQ(mode.random_order, 18446744073709551615u);
    EXPECT_EQ(mode.watchdog(false), 0.25);
    EXPECT_EQ(mode.watchdog(true), 0.25);
    EXPECT_EQ(mode.fault, TestMode::Fault::hang);
    EXPECT_EQ(mode.fault_at, 3u);
    environment.set("REKINDLE_FAULT", "out-of-memory:1");
    EXPECT_EQ(test_mode_from_environment().fault, TestMode::Fault::out_of_memory);
    environment.set("REKINDLE_FAULT", "device-lost:12");
    EXPECT_EQ(test_mode_from_environment().fault, TestMode::Fault::device_lost);
}

TEST_F(TestModeTest, SwitchesHaveTheMeaningOfAllSwitches) {
    for (const char* off : {"", "0", "off", "no"}) {
        environment.set("REKINDLE_POISON", off);
        EXPECT_FALSE(test_mode_from_environment().poison) << off;
    }
    for (const char* on : {"yes", "2", "on"}) {
        environment.set("REKINDLE_POISON", on);
        EXPECT_TRUE(test_mode_from_environment().poison) << on;
    }
}

TEST_F(TestModeTest, RefusesInvalidValues) {
    const std::pair<const char*, std::vector<const char*>> refused[] = {
        {"REKINDLE_RANDOM_ORDER", {"-1", "1.5", "seed", "18446744073709551616"}},
        {"REKINDLE_WATCHDOG_SECONDS", {"0", "-1", "nan", "inf", "30s"}},
        {"REKINDLE_FAULT", {"hang", "hang:", "hang:0", "hang:x", "fire:1", ":1"}}};
    for (const auto& [name, values] : refused)
        for (const char* value : values) {
            Environment one;
            one.set(name, value);
            EXPECT_THAT([] { test_mode_from_environment(); },
                        ThrowsMessage<Error>(HasSubstr(std::string(name) + "=" + value)));
        }
}

} // namespace rekindle::runtime::test
