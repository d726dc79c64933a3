#pragma once
/// 64-bit FNV-1a (Fowler, Noll, Vo): detects a torn file, and distinguishes builds.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace rekindle {

class Fnv1a {
  public:
    void add(std::span<const std::byte> bytes) noexcept {
        for (const std::byte byte : bytes)
            value_ = (value_ ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3u;
    }
    void add(std::string_view text) noexcept { add(std::as_bytes(std::span(text))); }
    void add(std::uint32_t number) noexcept { add(std::as_bytes(std::span(&number, 1))); }
    std::uint64_t value() const noexcept { return value_; }

  private:
    std::uint64_t value_ = 0xcbf29ce484222325u;
};

} // namespace rekindle
