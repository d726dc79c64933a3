#pragma once
/// Streams for tests: words in device memory, and kernels with integer arithmetic whose results depend on
/// their order.

#include "fixture.h"
#include "opened_device.h"

#include <rekindle/kernels/families/testing.h>
#include <rekindle/runtime/stream.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

namespace rekindle::runtime::test {

using Words = std::vector<std::uint32_t>;

inline Words numbered(std::size_t count, std::uint32_t first = 1) {
    Words words(count);
    std::iota(words.begin(), words.end(), first);
    return words;
}

inline Access part(const Buffer& buffer, std::uint64_t first_word, std::uint64_t words, bool writes) {
    return {buffer.pointer() + 4 * first_word, 4 * words, writes};
}

inline Groups groups_of(std::uint64_t words) {
    return {static_cast<std::uint32_t>((words + 63) / 64), 1, 1};
}

class StreamTest : public DeviceTest {
  protected:
    /// The device, opened at first use, so a test may set its environment first.
    Device& device() {
        if (!device_)
            device_ = open();
        return *device_;
    }
    OpenedDevice& opened() { return dynamic_cast<OpenedDevice&>(device()); }
    VulkanDevice& vulkan() { return opened().vulkan(); }
    std::unique_ptr<Stream> stream() { return device().make_stream(); }
    std::unique_ptr<Stream> stream(const StreamOptions& options) { return opened().make_stream(options); }

    Buffer memory(Stream& stream, std::size_t words) {
        return device().allocator().allocate(4 * words, MemoryKind::device, &stream);
    }
    Buffer memory(Stream& stream, const Words& words) {
        Buffer buffer = memory(stream, words.size());
        stream.upload(buffer.pointer(), std::as_bytes(std::span(words)));
        return buffer;
    }
    static Words contents(Stream& stream, const Buffer& buffer) {
        Words words(buffer.bytes() / 4);
        stream.download(std::as_writable_bytes(std::span(words)), buffer.pointer());
        return words;
    }

    /// words = 3 · words + value
    static void advance(Stream& stream, const Buffer& words, std::uint32_t value) {
        kernels::TestingParameters p;
        p.result = words.pointer().address;
        p.count = static_cast<std::uint32_t>(words.bytes() / 4);
        p.value = value;
        stream.launch(kernels::test_advance, groups_of(p.count), p, std::array{writes(words)});
    }
    /// result = factor · first + second + value
    static void combine(Stream& stream, const Buffer& result, const Buffer& first, const Buffer& second,
                        std::uint32_t value, std::span<const kernels::ConstantValue> constants = {}) {
        kernels::TestingParameters p;
        p.result = result.pointer().address;
        p.first = first.pointer().address;
        p.second = second.pointer().address;
        p.count = static_cast<std::uint32_t>(result.bytes() / 4);
        p.value = value;
        stream.launch(kernels::test_combine, groups_of(p.count), p,
                      std::array{writes(result), reads(first), reads(second)}, constants);
    }
    /// Work that lasts until the word at `flag` is not 0.
    static void wait_for_word(Stream& stream, const Buffer& result, DevicePointer flag) {
        kernels::TestingParameters p;
        p.result = result.pointer().address;
        p.first = flag.address;
        p.count = 1;
        stream.launch(kernels::test_wait, {1, 1, 1}, p, std::array{writes(result)});
    }
    /// Long work: `rounds` steps for each word, at most 65,534.
    static void spin(Stream& stream, const Buffer& result, const Buffer& first, std::uint32_t rounds,
                     double expected_seconds = 0) {
        kernels::TestingParameters p;
        p.result = result.pointer().address;
        p.first = first.pointer().address;
        p.count = static_cast<std::uint32_t>(result.bytes() / 4);
        p.rounds = rounds;
        stream.launch(kernels::test_spin, groups_of(p.count), p, std::array{writes(result), reads(first)}, {},
                      expected_seconds);
    }
    static Words spun(Words words, std::uint32_t rounds) {
        for (std::uint32_t& state : words)
            for (std::uint32_t i = 0; i < rounds; ++i)
                state = state * 1664525 + 1013904223;
        return words;
    }

    static StreamCore& core(Stream& stream) { return dynamic_cast<StreamCore&>(*timeline_of(stream)); }

    std::shared_ptr<Device> device_;
};

} // namespace rekindle::runtime::test
