/// The allocator with a Vulkan driver.
#include "crashes.h"
#include "fixture.h"
#include "memory/allocator.h"
#include "opened_device.h"

#include <rekindle/runtime/memory.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace rekindle::runtime::test {
namespace {

using testing::Each;
using testing::HasSubstr;

class MemoryTest : public DeviceTest {
  protected:
    static constexpr auto kinds = memory_kinds;

    void no_guard_pages() { environment.set("REKINDLE_GUARD_PAGES", "0"); }
    static DeviceAllocator& internal(Device& device) {
        return dynamic_cast<DeviceAllocator&>(device.allocator());
    }
    /// Where the host sees a block of any kind, if it does.
    static std::byte* host_view(const Buffer& buffer) {
        const Buffer::Block& block = *buffer.block();
        std::byte* const host = block.place->segment->memory->host;
        return host ? host + block.place->offset + block.begin : nullptr;
    }
};

/// Anonymous memory that is mapped twice, as by two processes.
class SharedPages {
  public:
    explicit SharedPages(std::size_t bytes) : bytes_(bytes) {
        const int file = ::memfd_create("pages", MFD_CLOEXEC);
        EXPECT_EQ(::ftruncate(file, static_cast<off_t>(bytes)), 0);
        for (void*& view : views_)
            view = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        ::close(file);
    }
    ~SharedPages() {
        for (void* const view : views_)
            ::munmap(view, bytes_);
    }
    SharedPages(const SharedPages&) = delete;
    SharedPages& operator=(const SharedPages&) = delete;
    std::span<std::byte> view(std::size_t number) const {
        return {static_cast<std::byte*>(views_[number]), bytes_};
    }

  private:
    std::size_t bytes_;
    std::array<void*, 2> views_{};
};

TEST_F(MemoryTest, ImportsPagesOfTheHost) {
    const auto device = open();
    const auto stream = device->make_stream();
    Allocator& allocator = device->allocator();
    const auto pages = std::make_shared<const SharedPages>(2 * allocator.import_alignment());
    const std::span<std::byte> first = pages->view(0), second = pages->view(1);
    Buffer imported = allocator.import_pages(first, pages);
    EXPECT_EQ(imported.host().data(), first.data());
    EXPECT_EQ(imported.bytes(), first.size());

    try {
        EXPECT_NE(allocator.import_pages(first, pages).pointer(), imported.pointer());
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("imported already"));
    }

    const Buffer target = allocator.allocate(first.size(), MemoryKind::device);
    std::ranges::fill(second, std::byte{7});
    stream->copy(target.pointer(), imported.pointer(), first.size());
    std::vector<std::byte> back(first.size());
    stream->download(back, target.pointer());
    EXPECT_THAT(back, Each(std::byte{7})) << "the device reads what the other mapping wrote";

    stream->fill(imported.pointer() + 256, first.size() - 256, 0x09090909);
    stream->synchronize();
    EXPECT_THAT(second.first(256), Each(std::byte{7}));
    EXPECT_THAT(second.subspan(256), Each(std::byte{9})) << "the other mapping sees what the device wrote";

    const std::weak_ptr<const SharedPages> kept = pages;
    const auto before = allocator.statistics(MemoryKind::readback);
    imported = {};
    stream->synchronize();
    internal(*device).collect();
    const auto after = allocator.statistics(MemoryKind::readback);
    EXPECT_EQ(before.reserved_bytes - after.reserved_bytes, first.size());
    EXPECT_EQ(kept.use_count(), 1) << "the memory is the test's alone";
    EXPECT_EQ(std::ranges::count(second.subspan(256), std::byte{9}), second.size() - 256)
        << "released pages keep their values";
}

TEST_F(MemoryTest, ImportsWholePagesOnly) {
    const auto device = open();
    Allocator& allocator = device->allocator();
    const auto pages = std::make_shared<const SharedPages>(2 * allocator.import_alignment());
    for (const auto part : {pages->view(0).subspan(256), pages->view(0).first(300), pages->view(0).first(0)})
        EXPECT_THROW(allocator.import_pages(part, pages), Error);
}

TEST_F(MemoryTest, BlocksOfAllKindsWithoutGuardPages) {
    no_guard_pages();
    const auto device = open();
    std::vector<Buffer> buffers;
    for (const MemoryKind kind : kinds)
        for (const std::uint64_t bytes : {0ull, 1ull, 300ull, 5ull << 20}) {
            const Buffer& b = buffers.emplace_back(device->allocator().allocate(bytes, kind));
            EXPECT_EQ(b.pointer().address % 256, 0u);
            EXPECT_EQ(b.bytes(), bytes);
            EXPECT_EQ(b.host().size(), kind == MemoryKind::device ? 0 : bytes);
            const BufferLocation at = internal(*device).locate(b.pointer(), bytes);
            EXPECT_NE(at.buffer, VkBuffer{});
            EXPECT_EQ(at.remaining, bytes);
            EXPECT_EQ(at.kind, kind);
            std::ranges::fill(b.host(), std::byte(buffers.size()));
        }
    for (std::size_t i = 0; i < buffers.size(); ++i)
        EXPECT_THAT(buffers[i].host_as<const std::uint8_t>().first(buffers[i].host().size() / 7),
                    Each(i + 1));
    for (const MemoryKind kind : kinds)
        EXPECT_EQ(device->allocator().statistics(kind).driver_allocations, 2u)
            << "one small segment, one large one";
    buffers.clear();
    device->allocator().empty_cache();
    for (const MemoryKind kind : kinds)
        EXPECT_EQ(device->allocator().statistics(kind).reserved_bytes, 0u);
}

TEST_F(MemoryTest, ReportsTheHeapOfDeviceMemory) {
    no_guard_pages();
    environment.set("REKINDLE_POISON", "0");
    const auto device = open();
    const MemoryInfo before = device->allocator().memory_info();
    EXPECT_EQ(before.budgeted, device->info().can.memory_budget);
    EXPECT_GE(before.total_bytes, before.free_bytes);
    std::uint64_t largest = 0;
    for (const Heap& heap : device->info().can.heaps)
        largest = std::max(largest, heap.device_local ? heap.bytes : 0);
    EXPECT_EQ(before.total_bytes, largest);
    const Buffer block = device->allocator().allocate(64 << 20, MemoryKind::device);
    if (!before.budgeted) {
        EXPECT_EQ(device->allocator().memory_info().free_bytes, before.free_bytes - (64 << 20));
    }
}

TEST_F(MemoryTest, TheAddressOfABlockMatchesItsPlaceInTheVkBuffer) {
    no_guard_pages();
    const auto opened = open();
    auto& device = dynamic_cast<OpenedDevice&>(*opened);
    const Buffer first = device.allocator().allocate(1000, MemoryKind::device);
    const Buffer second = device.allocator().allocate(1000, MemoryKind::device);
    const BufferLocation at = device.allocator().locate(second.pointer() + 12, 4);
    EXPECT_EQ(BufferMaker(device.vulkan()).address(at.buffer) + at.offset,
              raw_address(second.pointer()) + 12);
    EXPECT_EQ(at.buffer, device.allocator().locate(first.pointer(), 4).buffer);
}

TEST_F(MemoryTest, BuffersKeepTheirDeviceAlive) {
    auto device = open();
    const std::weak_ptr<Device> weak = device;
    Buffer buffer = device->allocator().allocate(100, MemoryKind::upload);
    device.reset();
    EXPECT_FALSE(weak.expired());
    buffer.host()[99] = std::byte{1};
    buffer = {};
    EXPECT_TRUE(weak.expired());
}

TEST_F(MemoryTest, DevicesHaveSeparateMemory) {
    const auto a = open(), b = open();
    const Buffer x = a->allocator().allocate(1000, MemoryKind::device);
    EXPECT_EQ(a->allocator().statistics(MemoryKind::device).allocations, 1u);
    EXPECT_EQ(b->allocator().statistics(MemoryKind::device).allocations, 0u);
    EXPECT_THROW(internal(*b).locate(x.pointer(), 1), Error);
}

TEST_F(MemoryTest, ADriverAllocationThatFailsOnceIsRetried) {
    no_guard_pages();
    environment.set("REKINDLE_FAULT", "out-of-memory:2");
    const auto device = open();
    if (device->info().type != DeviceType::cpu)
        GTEST_SKIP() << "a GPU has other memory for uploads, which is used before any retry";
    const Buffer small = device->allocator().allocate(1000, MemoryKind::upload);
    const Buffer large = device->allocator().allocate(9 << 20, MemoryKind::upload); // its own segment
    EXPECT_EQ(device->allocator().statistics(MemoryKind::upload).retries, 1u);
    EXPECT_EQ(device->allocator().statistics(MemoryKind::upload).out_of_memory, 0u);
    std::ranges::fill(large.host(), std::byte{1});
}

TEST_F(MemoryTest, ADriverOutOfMemoryIsReportedWithTheNumbers) {
    environment.set("REKINDLE_FAULT", "out-of-memory:3+");
    const auto device = open();
    const Buffer first = device->allocator().allocate(5 << 20, MemoryKind::device);
    const Buffer second = device->allocator().allocate(6 << 20, MemoryKind::device);
    try {
        const Buffer third = device->allocator().allocate(70 << 20, MemoryKind::device);
        FAIL() << "the fault was not injected";
    } catch (const OutOfMemory& e) {
        EXPECT_THAT(e.what(), HasSubstr(first_device().name));
        EXPECT_THAT(e.what(), HasSubstr("asked for 70.00 MiB of device memory"));
        EXPECT_THAT(e.what(), HasSubstr("11.00 MiB are in use"));
        EXPECT_THAT(e.what(), HasSubstr("heap 0 holds"));
        EXPECT_THAT(e.what(), HasSubstr("largest single allocation"));
    }
    EXPECT_EQ(device->allocator().statistics(MemoryKind::device).out_of_memory, 1u);
}

TEST_F(MemoryTest, MoreThanTheLargestAllocationIsRefused) {
    const auto device = open();
    const std::uint64_t largest = device->info().can.maximum_allocation_bytes;
    EXPECT_THROW(device->allocator().allocate(largest + 1, MemoryKind::device), OutOfMemory);
    EXPECT_THROW(device->allocator().allocate(~0ull, MemoryKind::upload), OutOfMemory);
}

TEST_F(MemoryTest, PoisonedPointersAndSentinelsInDriverMemory) {
    no_guard_pages();
    environment.set("REKINDLE_POISON", "1");
    const auto device = open();
    Buffer x = device->allocator().allocate(1000, MemoryKind::device);
    EXPECT_EQ(x.pointer().address >> 48, 0x4000u);
    EXPECT_EQ(raw_address(x.pointer()) % 256, 0u);
    std::byte* const host = host_view(x);
    if (!host)
        GTEST_SKIP() << "this device has no device-local memory that the host sees";
    float value = 0;
    std::memcpy(&value, host + 996, sizeof value);
    EXPECT_TRUE(std::isnan(value));
    host[1000] = std::byte{0};
    x = {};
    EXPECT_THAT(log.lines(LogLevel::error), testing::ElementsAre(HasSubstr("offset 0 after its end")));
    log.clear();
    EXPECT_THROW(internal(*device).throw_on_damage(), Error);
    EXPECT_NO_THROW(internal(*device).throw_on_damage());
}

/// Guard pages, which the fixture enables.
class GuardPagesTest : public MemoryTest {
  protected:
    void SetUp() override {
        if (!first_device().can.external_host_memory || first_device().type != DeviceType::cpu)
            GTEST_SKIP() << "guard pages need a CPU driver, and " << first_device().name << " is not one";
        // In poison mode, the allocator overwrites a block when it is released. That would crash here,
        // because a test releases a block whose pages are still write-protected.
        environment.set("REKINDLE_POISON", "0");
        device = open();
    }
    void TearDown() override {
        device.reset();
        MemoryTest::TearDown();
    }
    std::shared_ptr<Device> device;
};

TEST_F(GuardPagesTest, AccessingAByteAfterABlockCrashes) {
    for (const MemoryKind kind : kinds)
        for (const std::uint64_t bytes : {16ull, 4096ull, 100'000ull, 100'016ull}) {
            const Buffer buffer = device->allocator().allocate(bytes, kind);
            std::byte* const host = host_view(buffer);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(host), raw_address(buffer.pointer()));
            host[0] = host[bytes - 1] = std::byte{1};
            EXPECT_TRUE(crashes([&] { host[bytes] = std::byte{1}; })) << bytes;
        }
}

TEST_F(GuardPagesTest, ThePageBeforeABlockIsProtectedToo) {
    const Buffer buffer = device->allocator().allocate(4096, MemoryKind::device);
    std::byte* const host = host_view(buffer);
    EXPECT_TRUE(crashes([&] { host[-1] = std::byte{1}; }));
}

TEST_F(GuardPagesTest, AReleasedBlockIsUnmapped) {
    Buffer buffer = device->allocator().allocate(4096, MemoryKind::device);
    std::byte* const host = host_view(buffer);
    buffer = {};
    EXPECT_TRUE(crashes([&] { host[0] = std::byte{1}; }));
    EXPECT_EQ(device->allocator().statistics(MemoryKind::device).reserved_bytes, 0u);
}

TEST_F(GuardPagesTest, WritesIntoTheRoundingAreReported) {
    Buffer buffer = device->allocator().allocate(1001, MemoryKind::device);
    EXPECT_EQ(raw_address(buffer.pointer()) % 16, 0u);
    host_view(buffer)[1001] = std::byte{1};
    buffer = {};
    EXPECT_THAT(log.lines(LogLevel::error), testing::ElementsAre(HasSubstr("offset 0 after its end")));
    log.clear();
    EXPECT_THROW(internal(*device).throw_on_damage(), Error);
    buffer = device->allocator().allocate(1008, MemoryKind::device);
    host_view(buffer)[-1] = std::byte{1};
    buffer = {};
    EXPECT_THAT(log.lines(LogLevel::error), testing::ElementsAre(HasSubstr("offset 1 before its start")));
    log.clear();
}

TEST_F(GuardPagesTest, MemoryThatALaunchOnlyReadsIsWriteProtectedMeanwhile) {
    const Buffer a = device->allocator().allocate(3 * 4096, MemoryKind::device);
    const Buffer b = device->allocator().allocate(100, MemoryKind::device);
    std::byte* const host = host_view(a);
    const std::vector<Access> first{{a.pointer(), 3 * 4096, false}, {a.pointer() + 5000, 8, true}, writes(b)};
    auto held = internal(*device).protect(first);
    host[4096] = host_view(b)[0] = std::byte{1}; // pages that are also written
    EXPECT_EQ(host[0], host[0]) << "reading is allowed";
    EXPECT_TRUE(crashes([&] { host[0] = std::byte{1}; }));
    EXPECT_TRUE(crashes([&] { host[3 * 4096 - 1] = std::byte{1}; }));
    const std::vector<Access> second{{a.pointer(), 4, true}};
    auto other = internal(*device).protect(second);
    host[0] = std::byte{1}; // another launch writes here
    EXPECT_TRUE(crashes([&] { host[3 * 4096 - 1] = std::byte{1}; }));
    other.reset();
    EXPECT_TRUE(crashes([&] { host[0] = std::byte{1}; }));
    held.reset();
    std::fill_n(host, 3 * 4096, std::byte{1});
}

TEST_F(GuardPagesTest, ABlockMayBeReleasedWhileItsPagesAreHeld) {
    Buffer a = device->allocator().allocate(4096, MemoryKind::device);
    const std::vector<Access> accesses{reads(a)};
    auto held = internal(*device).protect(accesses);
    a = {};
    held.reset();
    EXPECT_EQ(device->allocator().statistics(MemoryKind::device).reserved_bytes, 0u);
}

TEST_F(MemoryTest, TheHostCrashesOnAPoisonedPointer) {
    environment.set("REKINDLE_POISON", "1");
    const auto device = open();
    const Buffer x = device->allocator().allocate(1000, MemoryKind::device);
    EXPECT_TRUE(crashes([&] { *reinterpret_cast<volatile char*>(x.pointer().address) = 1; }));
    log.clear(); // a device whose memory the host cannot see logs a warning
}

} // namespace
} // namespace rekindle::runtime::test
