/// Which memory type is chosen, on the memory tables of real drivers.
#include "memory/source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace rekindle::runtime {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags mapped =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
constexpr VkMemoryPropertyFlags amd =
    VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD | VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD;

struct Type {
    std::uint32_t heap;
    VkMemoryPropertyFlags flags;
};

VkPhysicalDeviceMemoryProperties table(const std::vector<std::uint64_t>& heaps_mib,
                                       const std::vector<Type>& types) {
    VkPhysicalDeviceMemoryProperties properties{};
    for (const std::uint64_t mib : heaps_mib)
        properties.memoryHeaps[properties.memoryHeapCount++].size = mib << 20;
    for (const Type& type : types)
        properties.memoryTypes[properties.memoryTypeCount++] = {type.flags, type.heap};
    return properties;
}

TEST(MemoryTypes, AmdWithoutResizableBar) {
    const auto p = table({7936, 16000, 256}, {{0, local},
                                              {1, mapped},
                                              {2, local | mapped},
                                              {1, mapped | cached},
                                              {0, local | amd},
                                              {1, mapped | amd},
                                              {2, local | mapped | amd},
                                              {1, mapped | cached | amd}});
    EXPECT_THAT(memory_types(p, MemoryKind::device, false), ElementsAre(0, 2))
        << "the small window comes last";
    EXPECT_THAT(memory_types(p, MemoryKind::device, true), ElementsAre(2, 0));
    EXPECT_THAT(memory_types(p, MemoryKind::upload, false), ElementsAre(1, 3, 2));
    EXPECT_THAT(memory_types(p, MemoryKind::readback, false), ElementsAre(3, 1, 2));
    EXPECT_THAT(memory_types(p, MemoryKind::parameters, false), ElementsAre(2, 1, 3));
}

TEST(MemoryTypes, NvidiaWithResizableBar) {
    const auto p = table({143'000, 500'000},
                         {{1, 0}, {0, local}, {1, mapped}, {1, mapped | cached}, {0, local | mapped}});
    EXPECT_THAT(memory_types(p, MemoryKind::device, false), ElementsAre(1, 4));
    EXPECT_THAT(memory_types(p, MemoryKind::device, true), ElementsAre(4, 1));
    EXPECT_THAT(memory_types(p, MemoryKind::upload, false), ElementsAre(2, 3, 4));
    EXPECT_THAT(memory_types(p, MemoryKind::parameters, false), ElementsAre(4, 2, 3));
}

TEST(MemoryTypes, OneHeapForAll) {
    const auto p = table({16'000}, {{0, local | mapped | cached}});
    for (const auto kind : {MemoryKind::device, MemoryKind::upload, MemoryKind::readback})
        EXPECT_THAT(memory_types(p, kind, false), ElementsAre(0));
}

TEST(MemoryTypes, PrefersTheLargerHeap) {
    const auto p = table({2'000, 8'000}, {{0, local}, {1, local}});
    EXPECT_THAT(memory_types(p, MemoryKind::device, false), ElementsAre(1, 0));
    EXPECT_THAT(memory_types(p, MemoryKind::upload, false), IsEmpty());
}

TEST(MemoryTypes, ProtectedAndLazilyAllocatedMemoryIsNotUsed) {
    const auto p = table({8'000}, {{0, local | VK_MEMORY_PROPERTY_PROTECTED_BIT},
                                   {0, local | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT},
                                   {0, local}});
    EXPECT_THAT(memory_types(p, MemoryKind::device, false), ElementsAre(2));
}

TEST(ReadableBytes, WithAUnit) {
    EXPECT_EQ(readable_bytes(0), "0 bytes");
    EXPECT_EQ(readable_bytes(1), "1 byte");
    EXPECT_EQ(readable_bytes(17), "17 bytes");
    EXPECT_EQ(readable_bytes(1536), "1.50 KiB");
    EXPECT_EQ(readable_bytes(3ull << 30), "3.00 GiB");
    EXPECT_EQ(readable_bytes(~0ull), "16.00 EiB");
}

} // namespace
} // namespace rekindle::runtime
