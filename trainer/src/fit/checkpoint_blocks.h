#pragma once
/// The bytes of a checkpoint: blocks with their lengths, little-endian, and a checksum at the end.

#include <rekindle/base/hash.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace rekindle::trainer {

/// Passes bytes on as they come and computes their checksum, so that a large checkpoint is never in memory
/// twice.
class BlockWriter {
  public:
    explicit BlockWriter(std::function<void(std::string_view)> sink) : sink_(std::move(sink)) {}

    void raw(std::string_view bytes) {
        hasher_.update(bytes);
        sink_(bytes);
    }
    void number(std::uint64_t value) {
        char bytes[8];
        for (unsigned i = 0; i < 8; ++i)
            bytes[i] = static_cast<char>(value >> (8 * i) & 0xFF);
        raw({bytes, 8});
    }
    void block(std::string_view bytes) {
        number(bytes.size());
        raw(bytes);
    }
    template <class T>
    void block(std::span<const T> values) {
        static_assert(std::is_trivially_copyable_v<T>);
        block(std::string_view(reinterpret_cast<const char*>(values.data()), values.size_bytes()));
    }
    void finish() { sink_(hasher_.digest().hex()); }

  private:
    std::function<void(std::string_view)> sink_;
    Hasher hasher_;
};

/// Reads blocks from a byte string; a wrong length is an error.
class BlockReader {
  public:
    explicit BlockReader(std::string_view bytes) : rest_(bytes) {}

    std::uint64_t number() {
        const std::string_view bytes = take(8);
        std::uint64_t value = 0;
        for (unsigned i = 0; i < 8; ++i)
            value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
        return value;
    }
    std::string_view next() { return take(number()); }
    template <class T>
    std::vector<T> values() {
        static_assert(std::is_trivially_copyable_v<T>);
        const std::string_view block = next();
        if (block.size() % sizeof(T) != 0)
            throw Error("the checkpoint is truncated");
        std::vector<T> values(block.size() / sizeof(T));
        if (!values.empty())
            std::memcpy(values.data(), block.data(), block.size());
        return values;
    }

  private:
    std::string_view take(std::uint64_t size) {
        if (size > rest_.size())
            throw Error("the checkpoint is truncated");
        const std::string_view bytes = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return bytes;
    }
    std::string_view rest_;
};

} // namespace rekindle::trainer
