#include "writing/thrift_writer.h"

#include <utility>

namespace rekindle::market::parquet {

namespace {

std::uint64_t to_zigzag(std::int64_t value) noexcept {
    return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}

} // namespace

void ThriftWriter::varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7)
        bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
}

void ThriftWriter::field(int id, ThriftType type) {
    constexpr int largest_difference = 15;
    const int difference = id - last_ids_.back();
    if (difference >= 1 && difference <= largest_difference) {
        bytes_ += static_cast<char>(difference << 4 | static_cast<int>(type));
    } else {
        bytes_ += static_cast<char>(type);
        varint(to_zigzag(id));
    }
    last_ids_.back() = id;
}

void ThriftWriter::integer(int id, ThriftType type, std::int64_t value) {
    field(id, type);
    varint(to_zigzag(value));
}

void ThriftWriter::boolean(int id, bool value) {
    field(id, value ? ThriftType::true_value : ThriftType::false_value);
}

void ThriftWriter::text(int id, std::string_view value) {
    field(id, ThriftType::binary);
    element_text(value);
}

void ThriftWriter::begin_structure(int id) {
    field(id, ThriftType::structure);
    last_ids_.push_back(0);
}

void ThriftWriter::end_structure() {
    bytes_ += static_cast<char>(ThriftType::stop);
    last_ids_.pop_back();
}

void ThriftWriter::list(int id, ThriftType type, std::size_t size) {
    constexpr std::size_t long_form = 15;
    field(id, ThriftType::list);
    const bool is_long = size >= long_form;
    bytes_ += static_cast<char>((is_long ? long_form : size) << 4 | static_cast<std::size_t>(type));
    if (is_long)
        varint(size);
}

void ThriftWriter::element32(std::int64_t value) {
    varint(to_zigzag(value));
}

void ThriftWriter::element_text(std::string_view value) {
    varint(value.size());
    bytes_ += value;
}

std::string ThriftWriter::finish() {
    end_structure();
    last_ids_ = {0};
    return std::exchange(bytes_, {});
}

} // namespace rekindle::market::parquet
