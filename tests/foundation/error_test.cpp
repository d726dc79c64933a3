#include <rekindle/foundation/error.h>

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace rekindle {
namespace {

TEST(Error, RendersOnlyThePartsThatAreSet) {
    EXPECT_EQ(Error("no rows left").render(), "no rows left");
    EXPECT_EQ(usage_error("not a number")
                  .at("es.csv:17:4")
                  .expected("a price")
                  .hint("Use --bad-rows skip.")
                  .render(),
              "es.csv:17:4: not a number, expected a price\n  Use --bad-rows skip.");
}

TEST(Error, CarriesItsExitStatus) {
    EXPECT_EQ(Error("x").status(), ExitStatus::failed);
    EXPECT_EQ(usage_error("x").status(), ExitStatus::usage);
    EXPECT_EQ(internal_error("x").status(), ExitStatus::internal);
    EXPECT_EQ(Error("x", ExitStatus::interrupted).status(), ExitStatus::interrupted);
}

TEST(Error, IsAStandardException) {
    try {
        throw usage_error("wrong zone").at("--zone");
    } catch (const std::exception& error) {
        EXPECT_STREQ(error.what(), "wrong zone");
    }
}

TEST(Expected, HoldsAValue) {
    Expected<std::string> value(std::string("bars"));
    ASSERT_TRUE(value);
    EXPECT_EQ(*value, "bars");
    EXPECT_EQ(value->size(), 4u);
    EXPECT_EQ(std::move(value).value(), "bars");
}

TEST(Expected, HoldsAnErrorAndThrowsItOnAccess) {
    const Expected<int> nothing(Error("no such contract").at("ESZ9"));
    ASSERT_FALSE(nothing.has_value());
    EXPECT_EQ(nothing.error().where(), "ESZ9");
    EXPECT_THROW(
        {
            try {
                (void)nothing.value();
            } catch (const Error& error) {
                EXPECT_EQ(error.render(), "ESZ9: no such contract");
                throw;
            }
        },
        Error);
}

TEST(Expected, TakesMoveOnlyTypes) {
    Expected<std::unique_ptr<int>> value(std::make_unique<int>(7));
    const std::unique_ptr<int> taken = std::move(value).value();
    EXPECT_EQ(*taken, 7);
}

} // namespace
} // namespace rekindle
