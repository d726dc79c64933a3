#include "module.h"
#include "spirv_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace rekindle::kernels;
using namespace rekindle::kernels::generator;
using rekindle::test::SpirvBuilder;
using testing::ElementsAre;

TEST(SpirvModule, RefusesWhatIsNotAModule) {
    EXPECT_THROW(check_structure({}), Refused);
    std::vector<std::uint32_t> words = SpirvBuilder().capability(1).words();
    EXPECT_NO_THROW(check_structure(words));
    words[0] = 0x03022307; // the other byte order
    EXPECT_THROW(check_structure(words), Refused);
}

TEST(SpirvModule, RefusesInstructionsThatDoNotEndWithTheModule) {
    std::vector<std::uint32_t> words = SpirvBuilder().capability(1).words();
    words.pop_back();
    EXPECT_THROW(check_structure(words), Refused);
    words.back() = 17; // an instruction of no words
    EXPECT_THROW(check_structure(words), Refused);
}

TEST(SpirvModule, StripsDebugInformationAndKeepsTheRest) {
    const auto with_names = SpirvBuilder()
                                .capability(1)
                                .add(7, {9}, "kernel.slang", true)
                                .add(3, {11, 100})
                                .name(4, "kernel")
                                .add(6, {5, 0}, "field", true)
                                .entry(4, "kernel")
                                .function(4)
                                .add(8, {9, 1, 1})
                                .end_function()
                                .words();
    const auto without = SpirvBuilder().capability(1).entry(4, "kernel").function(4).end_function().words();
    EXPECT_EQ(stripped(with_names), without);
    EXPECT_THAT(entry_points(without), ElementsAre("kernel"));
}

TEST(SpirvModule, NamesTheFunctionsThatCopyStructs) {
    const auto module = SpirvBuilder()
                            .name(4, "train")
                            .function(3)
                            .end_function()
                            .function(4)
                            .copy_logical()
                            .copy_logical()
                            .end_function()
                            .function(7)
                            .copy_logical()
                            .end_function()
                            .words();
    EXPECT_THAT(functions_with_logical_copies(module), ElementsAre("train", "%7"));
}

TEST(SpirvModule, CapabilitiesBecomeFeatures) {
    EXPECT_TRUE(needed_features(SpirvBuilder().capability(1).capability(11).words()).empty());
    EXPECT_EQ(needed_features(SpirvBuilder().capability(10).capability(63).words()),
              (Features{Feature::float64, Feature::subgroup_arithmetic}));
    EXPECT_THROW(needed_features(SpirvBuilder().capability(2).words()), Refused); // Geometry
}

TEST(SpirvModule, ReadsSpecializationConstants) {
    const auto module =
        SpirvBuilder().add(71, {8, 1, 3}).add(71, {9, 1, 0}).add(50, {1, 8, 128}).add(50, {1, 9, 7}).words();
    EXPECT_THAT(constant_values(module), ElementsAre(testing::Pair(0, 7), testing::Pair(3, 128)));
    EXPECT_THROW(constant_values(SpirvBuilder().add(48, {1, 8}).words()), Refused); // a bool
    EXPECT_THROW(constant_values(SpirvBuilder().add(71, {8, 1, 3}).add(50, {1, 8, 1, 0}).words()), Refused);
}
