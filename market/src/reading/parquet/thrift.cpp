#include "reading/parquet/thrift.h"

#include "reading/parquet/damage.h"

namespace rekindle::market::parquet {

namespace {

constexpr int deepest = 32;

std::int64_t zigzag(std::uint64_t value) noexcept {
    return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

} // namespace

void ThriftReader::enter() {
    if (++depth_ > deepest)
        throw Damage{"its metadata is nested too deeply"};
}

std::uint8_t ThriftReader::byte() {
    if (position_ >= bytes_.size())
        throw Damage{"its metadata ends early"};
    return static_cast<std::uint8_t>(bytes_[position_++]);
}

std::uint64_t ThriftReader::varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        const std::uint8_t next = byte();
        value |= static_cast<std::uint64_t>(next & 0x7F) << shift;
        if (next < 0x80)
            return value;
    }
    throw Damage{"its metadata contains an integer of more than 64 bits"};
}

std::string_view ThriftReader::take(std::uint64_t count) {
    if (count > bytes_.size() - position_)
        throw Damage{"its metadata ends early"};
    const std::string_view taken = bytes_.substr(position_, count);
    position_ += count;
    return taken;
}

ThriftType ThriftReader::next_field(std::int64_t& id) {
    const std::uint8_t header = byte();
    const auto type = static_cast<ThriftType>(header & 0x0F);
    if (type == ThriftType::stop)
        return type;
    const unsigned difference = header >> 4;
    id = difference != 0 ? id + difference : zigzag(varint());
    return type;
}

std::size_t ThriftReader::list_size(ThriftType type) {
    if (type != ThriftType::list && type != ThriftType::set)
        throw Damage{"its metadata has a value in place of a list"};
    const std::uint8_t header = byte();
    const std::uint64_t size = header >> 4 == 15 ? varint() : header >> 4;
    if (size > bytes_.size() - position_) // every element has at least one byte
        throw Damage{"its metadata has a list that is longer than the metadata"};
    return size;
}

std::int64_t ThriftReader::integer(ThriftType type) {
    if (type != ThriftType::i16 && type != ThriftType::i32 && type != ThriftType::i64)
        throw Damage{"its metadata lacks a number"};
    return zigzag(varint());
}

bool ThriftReader::boolean(ThriftType type) {
    if (type != ThriftType::true_value && type != ThriftType::false_value)
        throw Damage{"its metadata lacks a Boolean"};
    return type == ThriftType::true_value;
}

std::string_view ThriftReader::binary(ThriftType type) {
    if (type != ThriftType::binary)
        throw Damage{"its metadata lacks a text"};
    return take(varint());
}

void ThriftReader::skip(ThriftType type) {
    switch (type) {
    case ThriftType::true_value:
    case ThriftType::false_value:
        return;
    case ThriftType::byte:
        take(1);
        return;
    case ThriftType::i16:
    case ThriftType::i32:
    case ThriftType::i64:
        varint();
        return;
    case ThriftType::real:
        take(8);
        return;
    case ThriftType::uuid:
        take(16);
        return;
    case ThriftType::binary:
        take(varint());
        return;
    case ThriftType::structure:
        return read_structure([&](std::int64_t, ThriftType field) { skip(field); });
    case ThriftType::list:
    case ThriftType::set: {
        enter();
        const auto element =
            static_cast<ThriftType>(position_ < bytes_.size() ? bytes_[position_] & 0x0F : 0);
        const bool boolean = element == ThriftType::true_value || element == ThriftType::false_value;
        read_list(type, [&] { boolean ? static_cast<void>(byte()) : skip(element); });
        --depth_;
        return;
    }
    case ThriftType::map:
        throw Damage{"its metadata contains a map"}; // Parquet has none
    case ThriftType::stop:
        break;
    }
    throw Damage{"its metadata has a value of an unknown type"};
}

} // namespace rekindle::market::parquet
