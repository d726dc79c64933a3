#pragma once
/// Decodes the values of a page, which does not store missing ones.

#include "reading/parquet/metadata.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace rekindle::market::parquet {

/// A value as stored. `bits` holds a number (32-bit integers are extended to 64 bits, with their sign if they
/// have one), `bytes` an array or an int96.
struct Value {
    std::uint64_t bits = 0;
    std::string_view bytes;
};

inline bool holds_bytes(Physical physical) noexcept {
    return physical == Physical::byte_array || physical == Physical::fixed_byte_array ||
           physical == Physical::int96;
}

/// Reads values one after another. Views are valid until the next call. Throws Damage.
class ValueDecoder {
  public:
    virtual ~ValueDecoder() = default;
    virtual void read(std::span<Value> values) = 0;
};

/// A decoder for `count` values in `bytes`, which must outlive it. Throws Unsupported for an encoding that is
/// not read. Dictionary indices are decoded by the caller.
std::unique_ptr<ValueDecoder> make_decoder(const Column& column, Encoding encoding, std::string_view bytes,
                                           std::size_t count);

} // namespace rekindle::market::parquet
