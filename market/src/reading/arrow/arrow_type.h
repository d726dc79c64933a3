#pragma once
/// The type of a column, from the format strings of the Arrow C data interface.

#include <cstdint>
#include <string_view>

namespace rekindle::market::arrow {

enum class Kind {
    null,
    boolean,
    signed_integer,
    unsigned_integer,
    real16,
    real32,
    real64,
    decimal,
    date,        ///< in 1/per_day days
    time_of_day, ///< in 1/per_second seconds
    timestamp,   ///< in 1/per_second seconds
    text,        ///< positions in one buffer
    text_views,  ///< 16 bytes per value: the text itself, or where it is
    other,       ///< lists, structures and everything else whose values are not read
};

struct Type {
    Kind kind = Kind::other;
    int width = 0; ///< bytes of a value, or of a position for Kind::text; 0 if values have no fixed width
    std::int64_t per_second = 1;
    std::int64_t per_day = 1;
    bool has_zone = false; ///< for timestamps: they are instants
    int scale = 0;         ///< for decimals

    bool is_integer() const noexcept {
        return kind == Kind::signed_integer || kind == Kind::unsigned_integer;
    }
};

/// Returns Kind::other for an unknown format.
Type parse_format(std::string_view format);

} // namespace rekindle::market::arrow
