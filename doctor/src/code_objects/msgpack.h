#pragma once
/// Just enough of MessagePack (specification at msgpack.org) to walk through a table: nothing is built,
/// lengths are checked against the bytes that are present, nesting is bounded.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rekindle::doctor {

/// Reads one value after the other. A call that finds a type other than the requested one, or too few
/// bytes, returns nothing and leaves the position unchanged.
class MsgpackReader {
  public:
    explicit MsgpackReader(std::string_view bytes) noexcept : bytes_(bytes) {}

    /// Number of key-value pairs that follow. Never more than the number of bytes left.
    std::optional<std::uint64_t> read_map() noexcept;
    std::optional<std::uint64_t> read_array() noexcept;
    std::optional<std::string_view> read_text() noexcept;
    std::optional<std::uint64_t> read_unsigned() noexcept;
    /// Skips one value with everything in it; false when it is cut off or nested deeper than 32 levels.
    bool skip() noexcept;

  private:
    std::optional<std::uint64_t> read_length(std::uint8_t fixed, std::uint8_t fixed_mask,
                                             std::uint8_t first_code, int first_width,
                                             unsigned codes) noexcept;
    /// The length of a map or array, whose items take at least a byte each.
    std::optional<std::uint64_t> read_count(std::uint8_t fixed, std::uint8_t first_code) noexcept;
    std::optional<std::uint64_t> number(std::size_t at, int width) const noexcept;

    std::string_view bytes_;
    std::size_t position_ = 0;
};

} // namespace rekindle::doctor
