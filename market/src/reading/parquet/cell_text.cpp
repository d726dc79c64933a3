#include "reading/parquet/cell_text.h"

#include "reading/table_text.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

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
char* write_int96(std::string_view bytes, char* out) noexcept {
    constexpr std::int64_t julian_day_of_1970 = 2'440'588;
    constexpr std::int64_t per_second = 1'000'000'000;
    std::int64_t nanoseconds = 0;
    std::int32_t day = 0;
    std::memcpy(&nanoseconds, bytes.data(), sizeof nanoseconds);
    std::memcpy(&day, bytes.data() + sizeof nanoseconds, sizeof day);
    out = reading::write_date(day - julian_day_of_1970, out);
    *out++ = ' ';
    return reading::write_clock(nanoseconds / per_second, nanoseconds % per_second, per_second, out);
}

char* write_text(const std::string& text, char* out) noexcept {
    return std::copy(text.begin(), text.end(), out);
}

} // namespace

std::size_t cell_room(const Column& column, const Value& value) noexcept {
    return reading::longest_number + static_cast<std::size_t>(std::max(column.scale, 0)) +
           2 * value.bytes.size();
}

char* write_cell(const Column& column, const Value& value, char* out) {
    const auto integer = static_cast<std::int64_t>(value.bits);
    switch (column.logical) {
    case Logical::date:
        return reading::write_date(integer, out);
    case Logical::time_of_day:
        return reading::write_clock(integer / column.per_second, integer % column.per_second,
                                    column.per_second, out);
    case Logical::timestamp:
        out = reading::write_time(integer, column.per_second, out);
        if (column.utc)
            *out++ = 'Z';
        return out;
    case Logical::decimal: {
        std::string text;
        reading::append_decimal(holds_bytes(column.physical) ? decode_big_endian(value.bytes) : Wide{integer},
                                column.scale, text);
        return write_text(text, out);
    }
    case Logical::unsigned_integer:
        return reading::write_integer(value.bits, out);
    case Logical::other:
        return out;
    default:
        break;
    }
    switch (column.physical) {
    case Physical::real32:
        return reading::write_real(std::bit_cast<float>(static_cast<std::uint32_t>(value.bits)), out);
    case Physical::real64:
        return reading::write_real(std::bit_cast<double>(value.bits), out);
    case Physical::int96:
        return write_int96(value.bytes, out);
    case Physical::byte_array:
    case Physical::fixed_byte_array: {
        std::string text;
        reading::append_quoted(value.bytes, text);
        return write_text(text, out);
    }
    default:
        return reading::write_integer(integer, out);
    }
}

} // namespace rekindle::market::parquet
