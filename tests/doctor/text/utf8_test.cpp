#include "text/utf8.h"

#include <gtest/gtest.h>

namespace rekindle::doctor {
namespace {

TEST(Utf8, LengthsOfSequences) {
    EXPECT_EQ(utf8_length("a"), 1U);
    EXPECT_EQ(utf8_length("\xC2\xB5s"), 2U);
    EXPECT_EQ(utf8_length("\xE2\x80\xA6"), 3U);
    EXPECT_EQ(utf8_length("\xF0\x9F\x98\x80"), 4U);
    EXPECT_EQ(utf8_length("\xF4\x8F\xBF\xBF"), 4U); // U+10FFFF
}

TEST(Utf8, InvalidSequencesHaveNoLength) {
    EXPECT_EQ(utf8_length("\x80"), 0U) << "a continuation byte";
    EXPECT_EQ(utf8_length("\xE2\x80"), 0U) << "cut short";
    EXPECT_EQ(utf8_length("\xE2z\xA6"), 0U) << "not continued";
    EXPECT_EQ(utf8_length("\xC1\xBF"), 0U) << "overlong";
    EXPECT_EQ(utf8_length("\xE0\x9F\xBF"), 0U) << "overlong";
    EXPECT_EQ(utf8_length("\xF0\x8F\xBF\xBF"), 0U) << "overlong";
    EXPECT_EQ(utf8_length("\xED\xA0\x80"), 0U) << "half of a surrogate pair";
    EXPECT_EQ(utf8_length("\xF4\x90\x80\x80"), 0U) << "above U+10FFFF";
    EXPECT_EQ(utf8_length("\xF5\x80\x80\x80"), 0U);
}

} // namespace
} // namespace rekindle::doctor
