#include "../runtime/fixture.h"
#include "verify/checks.h"

#include <rekindle/mlp/verify.h>

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace rekindle::mlp {
namespace {

using Outcome = VerifyRow::Outcome;

TEST(VerifyRows, ComparesWithTheBound) {
    EXPECT_EQ(verify::compared("p", "n", 1e-5, 1e-5).outcome, Outcome::passed);
    EXPECT_EQ(verify::compared("p", "n", 1e-5, 1.1e-5).outcome, Outcome::failed);
    EXPECT_EQ(verify::compared("p", "n", 1e-5, NAN).outcome, Outcome::failed);
    EXPECT_EQ(verify::compared("p", "n", 1e-5, INFINITY).outcome, Outcome::failed);
}

TEST(VerifyRows, NothingRunDoesNotPass) {
    const VerifyRow good = verify::compared("p", "n", 1, 0), bad = verify::compared("p", "n", 1, 2);
    const VerifyRow skipped = verify::stated("p", "n", Outcome::not_run, "none");
    EXPECT_FALSE(passed({}));
    EXPECT_FALSE(passed({skipped}));
    EXPECT_TRUE(passed({good, skipped}));
    EXPECT_FALSE(passed({good, bad}));
}

using VerifyDevice = runtime::test::DeviceTest;

TEST_F(VerifyDevice, PassesOnTheTestDeviceAndReportsEveryRowImmediately) {
    std::vector<std::string> seen;
    const auto rows = verify_device(
        open(), {.speed_seconds = 0.01, .finished = [&](const VerifyRow& row) { seen.push_back(row.name); }});
    std::set<std::string> parts;
    for (const VerifyRow& row : rows) {
        parts.insert(row.part);
        EXPECT_NE(row.outcome, Outcome::failed)
            << row.part << ": " << row.name << ": " << row.detail << ", measured " << row.value.value_or(NAN);
        if (row.outcome == Outcome::measured) {
            EXPECT_GT(row.value.value_or(0), 0) << row.name;
        }
    }
    EXPECT_EQ(parts,
              (std::set<std::string>{"self-test", "matrix product", "attention", "training", "speed"}));
    EXPECT_EQ(seen.size(), rows.size());
    EXPECT_TRUE(passed(rows));
}

} // namespace
} // namespace rekindle::mlp
