#include <rekindle/base/philox.h>

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace rekindle {
namespace {

// The known-answer vectors published with Random123 1.14 (tests/kat_vectors, philox4x32 10).
TEST(Philox, MatchesPublishedVectors) {
    EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
              (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
              (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, StreamsDifferByPurposeStepAndIndex) {
    const auto first = [](PhiloxStream stream) { return stream.next_u64(); };
    const auto base = first(PhiloxStream(1, RandomPurpose::shuffle, 0, 0));
    EXPECT_NE(base, first(PhiloxStream(1, RandomPurpose::dropout, 0, 0)));
    EXPECT_NE(base, first(PhiloxStream(1, RandomPurpose::shuffle, 1, 0)));
    EXPECT_NE(base, first(PhiloxStream(1, RandomPurpose::shuffle, 0, 1)));
    EXPECT_NE(base, first(PhiloxStream(2, RandomPurpose::shuffle, 0, 0)));
}

TEST(Philox, StreamReadsItsBlocksInOrder) {
    // The documented layout: key (low, high ^ purpose << 24), counter (block, index low, index high, step).
    PhiloxStream stream(0x1122334455667788, RandomPurpose::test, 9, 0xAABBCCDD00EEFF11);
    const std::array<std::uint32_t, 2> key{0x55667788, 0x11223344 ^ (6u << 24)};
    for (std::uint32_t block = 0; block < 3; ++block)
        for (const std::uint32_t word : philox4x32({block, 0x00EEFF11, 0xAABBCCDD, 9}, key))
            EXPECT_EQ(stream.next_u32(), word);
}

TEST(Philox, NextBelowIsUniform) {
    PhiloxStream stream(5, RandomPurpose::test);
    constexpr std::uint32_t bound = 7;
    constexpr int draws = 70000;
    std::array<int, bound> counts{};
    for (int i = 0; i < draws; ++i) {
        const std::uint32_t value = stream.next_below(bound);
        ASSERT_LT(value, bound);
        ++counts[value];
    }
    double chi_squared = 0;
    for (const int count : counts)
        chi_squared += std::pow(count - draws / double{bound}, 2) / (draws / double{bound});
    EXPECT_LT(chi_squared, 22.5) << "0.1 % of uniform samples exceed this, with 6 degrees of freedom";
}

TEST(Philox, DoublesAndNormalsHaveTheExpectedMoments) {
    PhiloxStream stream(6, RandomPurpose::test);
    constexpr int draws = 100000;
    double uniform_sum = 0, normal_sum = 0, normal_squares = 0;
    for (int i = 0; i < draws; ++i) {
        const double uniform = stream.next_double();
        ASSERT_GE(uniform, 0.0);
        ASSERT_LT(uniform, 1.0);
        uniform_sum += uniform;
        const double normal = stream.next_normal();
        ASSERT_TRUE(std::isfinite(normal));
        normal_sum += normal;
        normal_squares += normal * normal;
    }
    // Five standard errors.
    EXPECT_NEAR(uniform_sum / draws, 0.5, 5 * std::sqrt(1.0 / 12 / draws));
    EXPECT_NEAR(normal_sum / draws, 0.0, 5 / std::sqrt(draws));
    EXPECT_NEAR(normal_squares / draws, 1.0, 5 * std::sqrt(2.0 / draws));
}

} // namespace
} // namespace rekindle
