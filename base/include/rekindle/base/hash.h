#pragma once
/// XXH3-128 hashes, which identify data and check the integrity of files. Not cryptographic.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace rekindle {

struct Hash128 {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    friend bool operator==(const Hash128&, const Hash128&) = default;
    /// 32 lower-case hexadecimal digits, high half first (xxhsum's order).
    std::string hex() const;
};

Hash128 hash128(std::span<const std::byte> bytes);
Hash128 hash128(std::string_view text);

/// Hashes a stream of bytes; the result equals hash128 of all of them. Movable; not thread-safe.
class Hasher {
  public:
    Hasher();
    ~Hasher();
    Hasher(Hasher&&) noexcept;
    Hasher& operator=(Hasher&&) noexcept;
    void update(std::span<const std::byte> bytes);
    void update(std::string_view text);
    Hash128 digest() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace rekindle
