#include "reading/arrow/arrow_type.h"

#include <array>
#include <charconv>
#include <optional>

namespace rekindle::market::arrow {

namespace {

struct SimpleFormat {
    std::string_view format;
    Type type;
};

constexpr std::array simple_formats{
    SimpleFormat{"n", {.kind = Kind::null}},
    SimpleFormat{"b", {.kind = Kind::boolean}},
    SimpleFormat{"c", {.kind = Kind::signed_integer, .width = 1}},
    SimpleFormat{"C", {.kind = Kind::unsigned_integer, .width = 1}},
    SimpleFormat{"s", {.kind = Kind::signed_integer, .width = 2}},
    SimpleFormat{"S", {.kind = Kind::unsigned_integer, .width = 2}},
    SimpleFormat{"i", {.kind = Kind::signed_integer, .width = 4}},
    SimpleFormat{"I", {.kind = Kind::unsigned_integer, .width = 4}},
    SimpleFormat{"l", {.kind = Kind::signed_integer, .width = 8}},
    SimpleFormat{"L", {.kind = Kind::unsigned_integer, .width = 8}},
    SimpleFormat{"e", {.kind = Kind::real16, .width = 2}},
    SimpleFormat{"f", {.kind = Kind::real32, .width = 4}},
    SimpleFormat{"g", {.kind = Kind::real64, .width = 8}},
    SimpleFormat{"u", {.kind = Kind::text, .width = 4}},
    SimpleFormat{"U", {.kind = Kind::text, .width = 8}},
    SimpleFormat{"vu", {.kind = Kind::text_views, .width = 16}},
    SimpleFormat{"tdD", {.kind = Kind::date, .width = 4}},
    SimpleFormat{"tdm", {.kind = Kind::date, .width = 8, .per_day = 86'400'000}},
    SimpleFormat{"tts", {.kind = Kind::time_of_day, .width = 4}},
    SimpleFormat{"ttm", {.kind = Kind::time_of_day, .width = 4, .per_second = 1'000}},
    SimpleFormat{"ttu", {.kind = Kind::time_of_day, .width = 8, .per_second = 1'000'000}},
    SimpleFormat{"ttn", {.kind = Kind::time_of_day, .width = 8, .per_second = 1'000'000'000}},
};

std::int64_t units_per_second(char unit) {
    switch (unit) {
    case 's':
        return 1;
    case 'm':
        return 1'000;
    case 'u':
        return 1'000'000;
    case 'n':
        return 1'000'000'000;
    default:
        return 0;
    }
}

/// "tsm:Europe/Berlin": milliseconds; without a zone, local times.
Type parse_timestamp(std::string_view format) {
    if (format.size() < 4 || format[3] != ':' || units_per_second(format[2]) == 0)
        return {};
    return {.kind = Kind::timestamp,
            .width = 8,
            .per_second = units_per_second(format[2]),
            .has_zone = format.size() > 4};
}

std::optional<int> take_number(std::string_view& text) {
    int value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc())
        return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.starts_with(','))
        text.remove_prefix(1);
    return value;
}

/// "d:19,4" has 128 bits; "d:9,4,32" states its width.
Type parse_decimal(std::string_view format) {
    std::string_view numbers = format.substr(2);
    const auto precision = take_number(numbers), scale = take_number(numbers);
    const int bits = numbers.empty() ? 128 : take_number(numbers).value_or(0);
    constexpr int most_digits = 38;
    const bool readable = precision && scale && *precision >= 1 && *precision <= most_digits && *scale >= 0 &&
                          *scale <= most_digits && (bits == 32 || bits == 64 || bits == 128);
    return readable ? Type{.kind = Kind::decimal, .width = bits / 8, .scale = *scale} : Type{};
}

} // namespace

Type parse_format(std::string_view format) {
    for (const SimpleFormat& simple : simple_formats)
        if (simple.format == format)
            return simple.type;
    if (format.starts_with("ts"))
        return parse_timestamp(format);
    if (format.starts_with("d:"))
        return parse_decimal(format);
    return {};
}

} // namespace rekindle::market::arrow
