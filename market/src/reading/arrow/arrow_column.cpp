#include "reading/arrow/arrow_column.h"

#include "reading/table_text.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace rekindle::market::arrow {

namespace {

template <class Number>
Number number_at(const std::byte* values, std::uint64_t position) noexcept {
    Number number;
    std::memcpy(&number, values + position * sizeof number, sizeof number);
    return number;
}

/// IEEE 754 half precision.
double half_at(const std::byte* values, std::uint64_t position) noexcept {
    const auto bits = number_at<std::uint16_t>(values, position);
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
    if (exponent == 31)
        value = fraction == 0 ? std::numeric_limits<double>::infinity()
                              : std::numeric_limits<double>::quiet_NaN();
    return (bits & 0x8000) != 0 ? -value : value;
}

/// One value of Kind::text_views. Texts of up to 12 bytes are stored inside it.
struct View {
    std::int32_t size = 0;
    std::int32_t buffer = 0;   ///< buffer of a longer text: 0 is the first buffer of characters
    std::int32_t position = 0; ///< in that buffer
    static constexpr std::int32_t most_inside = 12;
    static constexpr std::uint64_t inside_at = 4; ///< where a short text begins

    static View at(const std::byte* values, std::uint64_t index) noexcept {
        return {number_at<std::int32_t>(values, 4 * index), number_at<std::int32_t>(values, 4 * index + 2),
                number_at<std::int32_t>(values, 4 * index + 3)};
    }
};
constexpr int buffers_before_views = 2;

std::int64_t buffers_of(Kind kind) {
    switch (kind) {
    case Kind::null:
        return 0;
    case Kind::text:
        return 3;
    default:
        return 2;
    }
}

} // namespace

Column::Column(const ArrowSchema& schema, const ArrowArray& array, std::uint64_t first, std::uint64_t rows)
    : type_(parse_format(schema.format != nullptr ? schema.format : "")), rows_(rows) {
    if (array.release == nullptr)
        throw Violation{"it was released already"};
    if (array.length < 0 || array.offset < 0 || array.null_count < -1)
        throw Violation{fmt::format("its length is {}, its offset {} and its number of nulls {}",
                                    array.length, array.offset, array.null_count)};
    if (static_cast<std::uint64_t>(array.length) < first ||
        static_cast<std::uint64_t>(array.length) - first < rows)
        throw Violation{fmt::format("it has {}, expected {}", counted(array.length, "value"), first + rows)};
    first_ = static_cast<std::uint64_t>(array.offset) + first;
    if (!readable())
        return;
    require_buffers(array);
    if (type_.kind == Kind::text)
        check_texts(array);
    if (type_.kind == Kind::text_views)
        check_views(array);
    if ((schema.dictionary == nullptr) != (array.dictionary == nullptr))
        throw Violation{"only one of its schema and its data has a dictionary"};
    if (schema.dictionary == nullptr)
        return;
    if (!type_.is_integer())
        throw Violation{fmt::format("its indices into a dictionary have the format \"{}\"", schema.format)};
    if (schema.dictionary->dictionary != nullptr)
        throw Violation{"its dictionary has a dictionary"};
    dictionary_ = std::make_shared<const Column>(
        *schema.dictionary, *array.dictionary, 0,
        static_cast<std::uint64_t>(std::max<std::int64_t>(0, array.dictionary->length)));
    check_indices(array);
    if (!dictionary_->readable())
        type_.kind = Kind::other;
}

void Column::require_buffers(const ArrowArray& array) {
    const std::int64_t expected = buffers_of(type_.kind);
    const bool views = type_.kind == Kind::text_views;
    if (views ? array.n_buffers < expected + 1 : array.n_buffers != expected)
        throw Violation{fmt::format("it has {}, expected {}{}", counted(array.n_buffers, "buffer"),
                                    views ? expected + 1 : expected, views ? " or more" : "")};
    if (expected == 0)
        return;
    if (array.buffers == nullptr)
        throw Violation{"its list of buffers is missing"};
    if (array.null_count != 0)
        validity_ = static_cast<const std::uint8_t*>(array.buffers[0]);
    if (array.null_count > 0 && validity_ == nullptr)
        throw Violation{"it has nulls but no validity buffer"};
    values_ = static_cast<const std::byte*>(array.buffers[1]);
    if (values_ == nullptr && rows_ > 0)
        throw Violation{"its buffer of values is missing"};
    buffers_ = array.buffers;
    if (type_.kind == Kind::text)
        characters_ = static_cast<const char*>(array.buffers[2]);
}

void Column::check_texts(const ArrowArray&) const {
    if (rows_ == 0)
        return;
    const auto position = [&](std::uint64_t index) {
        return type_.width == 4 ? number_at<std::int32_t>(values_, index)
                                : number_at<std::int64_t>(values_, index);
    };
    std::int64_t before = position(first_);
    if (before < 0)
        throw Violation{fmt::format("its first text begins at {}", before)};
    const std::int64_t begin = before;
    for (std::uint64_t row = 1; row <= rows_; ++row) {
        const std::int64_t end = position(first_ + row);
        if (end < before)
            throw Violation{fmt::format("the text of row {} ends at {}, before it begins", row, end)};
        before = end;
    }
    if (before > begin && characters_ == nullptr)
        throw Violation{"its buffer of characters is missing"};
}

void Column::check_views(const ArrowArray& array) const {
    const std::int64_t buffers = array.n_buffers - buffers_before_views - 1;
    const auto* sizes = static_cast<const std::byte*>(array.buffers[array.n_buffers - 1]);
    if (buffers > 0 && sizes == nullptr)
        throw Violation{"the sizes of its buffers are missing"};
    for (std::uint64_t row = 0; row < rows_; ++row) {
        if (is_null(first_ + row))
            continue;
        const View view = View::at(values_, first_ + row);
        if (view.size >= 0 && view.size <= View::most_inside)
            continue;
        const bool fits = view.size >= 0 && view.buffer >= 0 && view.buffer < buffers && view.position >= 0 &&
                          std::int64_t{view.position} + view.size <=
                              number_at<std::int64_t>(sizes, static_cast<std::uint64_t>(view.buffer));
        if (!fits || array.buffers[buffers_before_views + view.buffer] == nullptr)
            throw Violation{fmt::format("the text of row {} is outside of its buffers", row + 1)};
    }
}

void Column::check_indices(const ArrowArray&) const {
    for (std::uint64_t row = 0; row < rows_; ++row) {
        if (is_null(first_ + row))
            continue;
        const std::int64_t index = integer(first_ + row);
        if (index < 0 || static_cast<std::uint64_t>(index) >= dictionary_->rows_)
            throw Violation{fmt::format("row {} has index {} in a dictionary with {}", row + 1, index,
                                        counted(dictionary_->rows_, "entry", "entries"))};
    }
}

std::uint64_t Column::bytes() const noexcept {
    return type_.kind == Kind::boolean ? rows_ / 8 : rows_ * static_cast<std::uint64_t>(type_.width);
}

bool Column::is_null(std::uint64_t position) const noexcept {
    return validity_ != nullptr && (validity_[position / 8] >> position % 8 & 1) == 0;
}

/// Returns unsigned 64-bit numbers with the same bits.
std::int64_t Column::integer(std::uint64_t position) const noexcept {
    const bool sign = type_.kind != Kind::unsigned_integer;
    switch (type_.width) {
    case 1:
        return sign ? number_at<std::int8_t>(values_, position) : number_at<std::uint8_t>(values_, position);
    case 2:
        return sign ? number_at<std::int16_t>(values_, position)
                    : number_at<std::uint16_t>(values_, position);
    case 4:
        return sign ? number_at<std::int32_t>(values_, position)
                    : std::int64_t{number_at<std::uint32_t>(values_, position)};
    default:
        return number_at<std::int64_t>(values_, position);
    }
}

std::string_view Column::text(std::uint64_t position) const noexcept {
    if (type_.kind == Kind::text_views) {
        const View view = View::at(values_, position);
        const char* begin =
            view.size <= View::most_inside
                ? reinterpret_cast<const char*>(values_) + position * 16 + View::inside_at
                : static_cast<const char*>(buffers_[buffers_before_views + view.buffer]) + view.position;
        return {begin, static_cast<std::size_t>(view.size)};
    }
    if (type_.width == 4) {
        const auto begin = number_at<std::int32_t>(values_, position);
        return {characters_ + begin,
                static_cast<std::size_t>(number_at<std::int32_t>(values_, position + 1) - begin)};
    }
    const auto begin = number_at<std::int64_t>(values_, position);
    return {characters_ + begin,
            static_cast<std::size_t>(number_at<std::int64_t>(values_, position + 1) - begin)};
}

void Column::append(std::uint64_t row, std::string& text) const {
    const std::uint64_t position = first_ + row;
    if (type_.kind == Kind::null || is_null(position))
        return;
    if (dictionary_)
        return dictionary_->append(static_cast<std::uint64_t>(integer(position)), text);
    append_value(position, text);
}

void Column::append_value(std::uint64_t position, std::string& text) const {
    switch (type_.kind) {
    case Kind::boolean:
        text += (std::to_integer<int>(values_[position / 8]) >> position % 8 & 1) != 0 ? "true" : "false";
        return;
    case Kind::signed_integer:
        return reading::append_integer(integer(position), text);
    case Kind::unsigned_integer:
        return reading::append_integer(static_cast<std::uint64_t>(integer(position)), text);
    case Kind::real16:
        return reading::append_real(half_at(values_, position), text);
    case Kind::real32:
        return reading::append_real(number_at<float>(values_, position), text);
    case Kind::real64:
        return reading::append_real(number_at<double>(values_, position), text);
    case Kind::decimal:
        return reading::append_decimal(type_.width == 16 ? number_at<reading::Wide>(values_, position)
                                                         : reading::Wide{integer(position)},
                                       type_.scale, text);
    case Kind::date: {
        const std::int64_t count = integer(position);
        return reading::append_date(count / type_.per_day - (count % type_.per_day < 0 ? 1 : 0), text);
    }
    case Kind::time_of_day: {
        const std::int64_t count = integer(position);
        return reading::append_clock(count / type_.per_second, count % type_.per_second, type_.per_second,
                                     text);
    }
    case Kind::timestamp:
        reading::append_time(integer(position), type_.per_second, text);
        text += type_.has_zone ? "Z" : "";
        return;
    case Kind::text:
    case Kind::text_views:
        return reading::append_quoted(this->text(position), text);
    case Kind::null:
    case Kind::other:
        return;
    }
}

} // namespace rekindle::market::arrow
