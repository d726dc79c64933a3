#include "pipeline/pipeline_identity.h"

#include <rekindle/runtime/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

namespace rekindle::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// A kernel with the constants width = 1, height = 2 and depth = 3, whose texts lie in this object.
struct OwnKernel {
    explicit OwnKernel(std::string called = "product") : name(std::move(called)) {
        kernel.name = name;
        kernel.family = family;
        kernel.constants = constants;
    }
    OwnKernel(const OwnKernel&) = delete;
    OwnKernel& operator=(const OwnKernel&) = delete;

    std::string name, family = "products", width = "width", height = "height", depth = "depth";
    std::array<kernels::SpecializationConstant, 3> constants{{{width, 0, 1}, {height, 1, 2}, {depth, 2, 3}}};
    kernels::Kernel kernel{};
};

std::size_t hash(const PipelineIdentity& identity) {
    return PipelineIdentity::Hash()(identity);
}

TEST(PipelineIdentity, HasAValueForEveryConstantInTheKernelsOrder) {
    const OwnKernel own;
    EXPECT_THAT(PipelineIdentity(own.kernel, {}).values, ElementsAre(1u, 2u, 3u));
    const std::array<kernels::ConstantValue, 2> constants{{{"depth", 30}, {"width", 10}}};
    EXPECT_THAT(PipelineIdentity(own.kernel, constants).values, ElementsAre(10u, 2u, 30u));
    const std::array<kernels::ConstantValue, 3> repeated{{{"height", 5}, {"height", 6}, {"width", 7}}};
    EXPECT_THAT(PipelineIdentity(own.kernel, repeated).values, ElementsAre(7u, 6u, 3u));
}

TEST(PipelineIdentity, ComparesValuesNotAddresses) {
    const OwnKernel one, same;
    const std::string name = "height"; // another address than the kernel's
    const std::array<kernels::ConstantValue, 1> constants{{{name, 2}}};
    const PipelineIdentity a(one.kernel, {}), b(same.kernel, constants);
    EXPECT_EQ(a, b);
    EXPECT_EQ(hash(a), hash(b));
}

TEST(PipelineIdentity, DiffersByKernelAndByValue) {
    const OwnKernel one, other("quotient");
    const std::array<kernels::ConstantValue, 1> wide{{{"width", 2}}};
    const PipelineIdentity base(one.kernel, {});
    EXPECT_NE(base, PipelineIdentity(other.kernel, {}));
    EXPECT_NE(base, PipelineIdentity(one.kernel, wide));
}

TEST(PipelineIdentity, RefusesAnUnknownConstant) {
    const OwnKernel own;
    const std::array<kernels::ConstantValue, 2> constants{{{"width", 2}, {"breadth", 1}}};
    EXPECT_THAT([&] { PipelineIdentity(own.kernel, constants); },
                ThrowsMessage<Error>(HasSubstr("kernel product has no constant breadth")));
    kernels::Kernel without = own.kernel;
    without.constants = {};
    EXPECT_THAT([&] { PipelineIdentity(without, constants); },
                ThrowsMessage<Error>(HasSubstr("has no constant width")));
}

} // namespace
} // namespace rekindle::runtime
