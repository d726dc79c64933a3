#include "reading/parquet/cell_text.h"

#include "reading/table_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

namespace rekindle::market::parquet {

namespace {

using reading::UnsignedWide;
using reading::Wide;

/// A big-endian integer of at most 16 bytes.
Wide decode_big_endian(std::string_view bytes) {
    Wide value = !bytes.empty() && static_cast<signed char>(bytes.front()) < 0 ? -1 : 0;
    for (const char byte : bytes)
        value = static_cast<Wide>(static_cast<UnsignedWide>(value) << 8) | static_cast<unsigned char>(byte);
    return value;
}

/// INT96 holds the timestamps of Impala and older versions of Spark: nanoseconds since midnight, then the
/// Julian day number.
void append_int96(std::string_view bytes, std::string& text) {
    constexpr std::int64_t julian_day_of_1970 = 2'440'588;
    constexpr std::int64_t per_second = 1'000'000'000;
    std::int64_t nanoseconds = 0;
    std::int32_t day = 0;
    std::memcpy(&nanoseconds, bytes.data(), sizeof nanoseconds);
    std::memcpy(&day, bytes.data() + sizeof nanoseconds, sizeof day);
    reading::append_date(day - julian_day_of_1970, text);
    text += ' ';
    reading::append_clock(nanoseconds / per_second, nanoseconds % per_second, per_second, text);
}

} // namespace

void append_cell(const Column& column, const Value& value, std::string& text) {
    const auto integer = static_cast<std::int64_t>(value.bits);
    switch (column.logical) {
    case Logical::date:
        return reading::append_date(integer, text);
    case Logical::time_of_day:
        return reading::append_clock(integer / column.per_second, integer % column.per_second,
                                     column.per_second, text);
    case Logical::timestamp:
        reading::append_time(integer, column.per_second, text);
        text += column.utc ? "Z" : "";
        return;
    case Logical::decimal:
        return reading::append_decimal(holds_bytes(column.physical) ? decode_big_endian(value.bytes)
                                                                    : Wide{integer},
                                       column.scale, text);
    case Logical::unsigned_integer:
        fmt::format_to(std::back_inserter(text), "{}", value.bits);
        return;
    case Logical::other:
        return;
    default:
        break;
    }
    switch (column.physical) {
    case Physical::real32:
        return reading::append_real(std::bit_cast<float>(static_cast<std::uint32_t>(value.bits)), text);
    case Physical::real64:
        return reading::append_real(std::bit_cast<double>(value.bits), text);
    case Physical::int96:
        return append_int96(value.bytes, text);
    case Physical::byte_array:
    case Physical::fixed_byte_array:
        return reading::append_quoted(value.bytes, text);
    default:
        fmt::format_to(std::back_inserter(text), "{}", integer);
    }
}

} // namespace rekindle::market::parquet
