#include "knowledge/packed.h"

#include <rekindle/foundation/error.h>

#include <gtest/gtest.h>

namespace rekindle::doctor {
namespace {

/// A cause whose condition contains `depth` further ones.
Knowledge nested(std::size_t depth) {
    Knowledge knowledge;
    Condition condition;
    condition.key = "wsl";
    for (std::size_t i = 0; i < depth; ++i) {
        Condition outer;
        outer.key = "not";
        outer.parts.push_back(std::move(condition));
        condition = std::move(outer);
    }
    knowledge.causes.emplace_back().unless = std::move(condition);
    return knowledge;
}

TEST(PackedKnowledge, UnpackingAndPackingAgainGivesTheSameBytes) {
    const std::string bytes = pack(embedded_knowledge());
    const Knowledge again = unpack(bytes);
    EXPECT_EQ(pack(again), bytes);
    EXPECT_EQ(again.causes.size(), embedded_knowledge().causes.size());
    EXPECT_EQ(again.remedies.back().changes, embedded_knowledge().remedies.back().changes);
}

TEST(PackedKnowledge, EveryTruncationIsRefused) {
    Knowledge knowledge;
    knowledge.remedies = {embedded_knowledge().remedies.front()};
    knowledge.indexes = {embedded_knowledge().indexes.front()};
    const std::string bytes = pack(knowledge);
    for (std::size_t length = 0; length < bytes.size(); ++length)
        EXPECT_THROW((void)unpack(std::string_view(bytes).substr(0, length)), Error) << length;
    EXPECT_THROW((void)unpack(bytes + '\0'), Error) << "a byte too many";
}

TEST(PackedKnowledge, CountsAndNamesThatLieAreRefused) {
    const std::string empty = pack({});
    for (std::size_t at = 0; at < empty.size(); ++at) {
        std::string bytes = empty;
        bytes.replace(at, 1, "\xff\xff\xff\xff\xff\xff\xff\xff\x7f"); // 2^63 - 1 items
        EXPECT_THROW((void)unpack(bytes), Error) << at;
        bytes.replace(at, 9, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"); // no end within 64 bits
        EXPECT_THROW((void)unpack(bytes), Error) << at;
    }
}

TEST(PackedKnowledge, ConditionsMayNotNestEndlessly) {
    EXPECT_EQ(pack(unpack(pack(nested(20)))), pack(nested(20)));
    EXPECT_THROW((void)unpack(pack(nested(5000))), Error);
}

} // namespace
} // namespace rekindle::doctor
