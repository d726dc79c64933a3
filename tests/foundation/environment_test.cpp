#include <rekindle/foundation/environment.h>

#include <gtest/gtest.h>

#include <cstdlib>

namespace rekindle {
namespace {

constexpr const char* variable = "REKINDLE_TEST_SWITCH";

TEST(Switch, OnAndOffMeanTheSameEverywhere) {
    for (const char* text : {"", "0", "off", "OFF", "Off", "false", "False", "no", "NO"})
        EXPECT_FALSE(is_on(text)) << text;
    for (const char* text : {"1", "on", "true", "yes", "2", "00", " 0", "none", "offf", "n", "debug"})
        EXPECT_TRUE(is_on(text)) << text;
}

TEST(Switch, AnUnsetOrEmptyVariableHasTheDefault) {
    ::unsetenv(variable);
    EXPECT_EQ(environment_text(variable), "");
    EXPECT_FALSE(switched_on(variable));
    EXPECT_TRUE(switched_on(variable, true));
    ::setenv(variable, "", 1);
    EXPECT_FALSE(switched_on(variable));
    EXPECT_TRUE(switched_on(variable, true));
}

TEST(Switch, ASetVariableOverridesTheDefault) {
    ::setenv(variable, "off", 1);
    EXPECT_FALSE(switched_on(variable, true));
    ::setenv(variable, "yes", 1);
    EXPECT_EQ(environment_text(variable), "yes");
    EXPECT_TRUE(switched_on(variable));
    ::unsetenv(variable);
}

} // namespace
} // namespace rekindle
