#pragma once
/// Thrift's compact protocol, in which Parquet stores its metadata
/// (https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md).

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rekindle::market::parquet {

enum class ThriftType : std::uint8_t {
    stop = 0,
    true_value = 1,
    false_value = 2,
    byte = 3,
    i16 = 4,
    i32 = 5,
    i64 = 6,
    real = 7,
    binary = 8,
    list = 9,
    set = 10,
    map = 11,
    structure = 12,
    uuid = 13,
};

/// Reads values one after another. Never reads beyond the given bytes and never nests deeper than 32
/// structures. Throws Damage.
class ThriftReader {
  public:
    explicit ThriftReader(std::string_view bytes) : bytes_(bytes) {}

    /// Calls field(id, type) for each field of a structure. The function must consume the value, with skip()
    /// if it is not used.
    template <class Field>
    void read_structure(const Field& field) {
        enter();
        std::int64_t id = 0;
        for (ThriftType type = next_field(id); type != ThriftType::stop; type = next_field(id))
            field(id, type);
        --depth_;
    }
    /// Calls element() for each element of a list; throws Damage if they have another type.
    template <class Element>
    void read_list(ThriftType type, const Element& element) {
        for (std::size_t left = list_size(type); left > 0; --left)
            element();
    }

    /// An integer of 16, 32 or 64 bits; throws Damage for a field of another type.
    std::int64_t integer(ThriftType type);
    /// A Boolean field: its value is in its type.
    static bool boolean(ThriftType type);
    std::string_view binary(ThriftType type);
    void skip(ThriftType type);
    /// Bytes read so far.
    std::size_t position() const noexcept { return position_; }

  private:
    void enter();
    ThriftType next_field(std::int64_t& id);
    std::size_t list_size(ThriftType type);
    std::uint8_t byte();
    std::uint64_t varint();
    std::string_view take(std::uint64_t count);

    std::string_view bytes_;
    std::size_t position_ = 0;
    int depth_ = 0;
};

} // namespace rekindle::market::parquet
