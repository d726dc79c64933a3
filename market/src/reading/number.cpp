#include "reading/number.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

namespace rekindle::market::reading {

namespace {

constexpr int max_digits = 18;

constexpr std::array<std::int64_t, 19> powers_of_ten = [] {
    std::array<std::int64_t, 19> powers{};
    powers[0] = 1;
    for (std::size_t i = 1; i < powers.size(); ++i)
        powers[i] = powers[i - 1] * 10;
    return powers;
}();

constexpr unsigned digit_of(char character) noexcept {
    return static_cast<unsigned>(static_cast<unsigned char>(character)) - '0';
}

/// Collects the digits of one number, up to the 18th significant one.
struct DigitCollector {
    std::int64_t mantissa = 0;
    int significant = 0;
    int scale = 0;
    bool any = false;
    bool exact = true;

    void add(unsigned digit, bool fraction) noexcept {
        any = true;
        if (significant == max_digits) {
            exact = exact && digit == 0;
            scale -= fraction ? 0 : 1;
            return;
        }
        mantissa = mantissa * 10 + static_cast<std::int64_t>(digit);
        significant += mantissa != 0;
        scale += fraction;
    }
};

/// Normalizes the scale to [0, 18].
std::optional<Decimal> normalized(Decimal value) noexcept {
    if (value.mantissa == 0)
        return Decimal{0, 0, value.exact};
    while (value.scale < 0) {
        if (std::abs(value.mantissa) >= powers_of_ten[17])
            return std::nullopt;
        value.mantissa *= 10;
        ++value.scale;
    }
    while (value.scale > 18 && value.mantissa != 0) {
        value.exact = value.exact && value.mantissa % 10 == 0;
        value.mantissa /= 10;
        --value.scale;
    }
    if (value.mantissa == 0)
        value.scale = 0;
    return value;
}

/// The general case: blanks, exponents and too many digits.
std::optional<Decimal> parse_any_decimal(std::string_view text) noexcept {
    text = trim(text);
    const bool negative = !text.empty() && text.front() == '-';
    if (negative)
        text.remove_prefix(1);
    DigitCollector digits;
    std::size_t i = 0;
    for (; i < text.size() && digit_of(text[i]) <= 9; ++i)
        digits.add(digit_of(text[i]), false);
    if (i < text.size() && text[i] == '.')
        for (++i; i < text.size() && digit_of(text[i]) <= 9; ++i)
            digits.add(digit_of(text[i]), true);
    if (!digits.any)
        return std::nullopt;
    int exponent = 0;
    if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
        ++i;
        i += i + 1 < text.size() && text[i] == '+';
        const auto result = std::from_chars(text.data() + i, text.data() + text.size(), exponent);
        if (result.ec != std::errc() || exponent < -400 || exponent > 400)
            return std::nullopt;
        i = static_cast<std::size_t>(result.ptr - text.data());
    }
    if (i != text.size())
        return std::nullopt;
    return normalized({negative ? -digits.mantissa : digits.mantissa, digits.scale - exponent, digits.exact});
}

/// The tick with its decimal digits; an internal error if it is not usable.
Decimal exact_decimal(TickSize tick) {
    const auto decimal = parse_decimal(shortest(tick.points));
    if (!decimal || !TickConverter::is_usable_tick(tick))
        throw internal_error(shortest(tick.points) + " is not a usable tick size");
    return *decimal;
}

} // namespace

double Decimal::value() const noexcept {
    return static_cast<double>(mantissa) /
           static_cast<double>(powers_of_ten[static_cast<std::size_t>(scale)]);
}

std::optional<Decimal> parse_decimal(std::string_view text) noexcept {
    const char* p = text.data();
    const char* const end = p + text.size();
    if (text.size() > max_digits)
        return parse_any_decimal(text);
    const bool negative = p != end && *p == '-';
    p += negative;
    std::int64_t mantissa = 0;
    const char* const first = p;
    for (; p != end && digit_of(*p) <= 9; ++p)
        mantissa = mantissa * 10 + static_cast<std::int64_t>(digit_of(*p));
    auto digits = p - first;
    int scale = 0;
    if (p != end && *p == '.') {
        const char* const fraction = ++p;
        for (; p != end && digit_of(*p) <= 9; ++p)
            mantissa = mantissa * 10 + static_cast<std::int64_t>(digit_of(*p));
        scale = static_cast<int>(p - fraction);
        digits += scale;
    }
    if (p != end || digits == 0)
        return parse_any_decimal(text);
    return Decimal{negative ? -mantissa : mantissa, scale, true};
}

namespace {

constexpr std::array<std::string_view, 5> currency_signs{"$", "\u20AC", "\u00A3", "\u00A5", "\u20B9"};
constexpr std::size_t longest_number = 40;

/// Removes commas between thousands; empty if a comma is anywhere else.
std::optional<std::string> without_thousands(std::string_view text) {
    const std::string_view whole = text.substr(0, text.find('.'));
    std::string result;
    std::size_t digits = 0; // since the last comma
    bool comma = false;
    for (const char c : whole) {
        if (c == ',') {
            if (comma ? digits != 3 : digits == 0 || digits > 3)
                return std::nullopt;
            comma = true;
            digits = 0;
            continue;
        }
        digits += digit_of(c) <= 9;
        result += c;
    }
    if (comma && digits != 3)
        return std::nullopt;
    return result.append(text.substr(whole.size()));
}

} // namespace

std::optional<Decimal> parse_price(std::string_view text) {
    if (const auto plain = parse_decimal(text))
        return plain;
    text = trim(text);
    const bool negative = text.starts_with('-');
    text.remove_prefix(negative ? 1 : 0);
    const auto* sign =
        std::ranges::find_if(currency_signs, [&](std::string_view s) { return text.starts_with(s); });
    if (sign != currency_signs.end())
        text = trim(text.substr(sign->size()));
    const auto commas = std::count(text.begin(), text.end(), ',');
    const bool ambiguous =
        commas == 1 && sign == currency_signs.end() && text.find('.') == std::string_view::npos;
    if (text.size() > longest_number || text.starts_with('-') || ambiguous)
        return std::nullopt;
    const auto digits = without_thousands(text);
    auto value = digits ? parse_decimal(*digits) : std::nullopt;
    if (value && negative)
        value->mantissa = -value->mantissa;
    return value;
}

std::optional<Decimal> parse_volume(std::string_view text) {
    if (const auto plain = parse_decimal(text))
        return plain;
    text = trim(text);
    if (text == "-" || text == "--")
        return Decimal{};
    if (text.empty() || text.size() > longest_number)
        return std::nullopt;
    int thousands = 0;
    constexpr std::string_view suffixes = "KMBT";
    const auto suffix = suffixes.find(static_cast<char>(text.back() & ~0x20));
    if (suffix != std::string_view::npos) {
        thousands = static_cast<int>(suffix) + 1;
        text.remove_suffix(1);
    }
    const auto digits = without_thousands(text);
    const auto value = digits ? parse_decimal(*digits) : std::nullopt;
    if (!value)
        return std::nullopt;
    return normalized({value->mantissa, value->scale - 3 * thousands, value->exact});
}

std::string without_decimal_comma(std::string_view text) {
    std::string plain;
    for (const char c : text)
        if (c != '.')
            plain += c == ',' ? '.' : c;
    return plain;
}

bool is_missing_value(std::string_view text) noexcept {
    text = trim(text);
    constexpr std::array<std::string_view, 5> words{"", "nan", "null", "na", "n/a"};
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
        return std::equal(text.begin(), text.end(), word.begin(), word.end(),
                          [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
    });
}

bool TickConverter::is_usable_tick(TickSize tick) noexcept {
    if (!(tick.points >= 1e-9 && tick.points <= 1e9))
        return false;
    const auto decimal = parse_decimal(shortest(tick.points));
    return decimal && decimal->exact && decimal->mantissa < 1'000'000'000;
}

TickConverter::TickConverter(PriceGrid grid) : grid_(grid), decimal_(exact_decimal(grid.step)) {
    for (std::size_t scale = 0; scale < ticks_per_unit_.size(); ++scale)
        ticks_per_unit_[scale] =
            static_cast<double>(powers_of_ten[static_cast<std::size_t>(decimal_.scale)]) /
            (static_cast<double>(decimal_.mantissa) * static_cast<double>(powers_of_ten[scale]));
}

/// Whether `price` is that number of ticks after a conversion to a 32-bit float: the nearest float, written
/// with more digits than the tick has (4189.509766 for 4189.51). If floats are farther apart than ticks, they
/// do not determine the tick.
bool TickConverter::is_float_of(const Decimal& price, std::int64_t ticks) const noexcept {
    const double exact = static_cast<double>(ticks) * static_cast<double>(decimal_.mantissa) /
                         static_cast<double>(powers_of_ten[static_cast<std::size_t>(decimal_.scale)]);
    const auto image = static_cast<float>(exact);
    const double spacing =
        static_cast<double>(std::nextafter(image, std::numeric_limits<float>::infinity())) -
        static_cast<double>(image);
    if (spacing > grid_.step.points)
        return false;
    // A short text identifies a float only if trailing zeros were omitted.
    double last_digit = 1 / static_cast<double>(powers_of_ten[static_cast<std::size_t>(price.scale)]);
    while (last_digit * 4 > spacing)
        last_digit /= 10;
    const double lost = exact * 0x1p-50; // from converting the price to double
    return std::abs(price.value() - static_cast<double>(image)) <= last_digit / 2 + lost;
}

PriceStatus TickConverter::convert(const Decimal& price, Ticks& ticks) const noexcept {
    if (!grid_.is_tick)
        return convert_nearest(price, ticks);
    if (price.mantissa > 0)
        return convert_positive(price, ticks);
    Decimal opposite = price;
    opposite.mantissa = -price.mantissa;
    ticks = 0;
    const PriceStatus status = price.mantissa == 0 ? PriceStatus::exact : convert_positive(opposite, ticks);
    ticks = -ticks;
    return status;
}

PriceStatus TickConverter::convert_nearest(const Decimal& price, Ticks& ticks) const noexcept {
    const double quotient = std::round(static_cast<double>(price.mantissa) *
                                       ticks_per_unit_[static_cast<std::size_t>(price.scale)]);
    if (!(std::abs(quotient) < static_cast<double>(std::numeric_limits<Ticks>::max())))
        return PriceStatus::too_large;
    ticks = static_cast<Ticks>(quotient);
    return PriceStatus::exact;
}

double TickConverter::distance(const Decimal& price, Ticks ticks) const noexcept {
    return std::abs(static_cast<double>(price.mantissa) *
                        ticks_per_unit_[static_cast<std::size_t>(price.scale)] -
                    static_cast<double>(ticks));
}

bool TickConverter::is_evidence(const Decimal& price, Ticks ticks) const noexcept {
    const double quotient = std::abs(static_cast<double>(ticks));
    constexpr double any_distance = 0.45; // half a tick, less a margin
    constexpr double double_precision = 0x1p-40;
    return quotient * float_precision < any_distance ||
           distance(price, ticks) <= quotient * double_precision || (ticks > 0 && is_float_of(price, ticks));
}

PriceStatus TickConverter::convert_positive(const Decimal& price, Ticks& ticks) const noexcept {
    const double quotient =
        static_cast<double>(price.mantissa) * ticks_per_unit_[static_cast<std::size_t>(price.scale)];
    if (!(quotient < static_cast<double>(std::numeric_limits<Ticks>::max())))
        return PriceStatus::too_large;
    // NOLINTNEXTLINE(bugprone-incorrect-roundings): exact enough for the check below, and the fastest
    const auto nearest = static_cast<std::int64_t>(quotient + 0.5);
    ticks = static_cast<Ticks>(nearest);
    // Both products are below 10^18: the first because quotient × tick mantissa is, the second because it is
    // within half a tick of the first.
    const int shift = decimal_.scale - price.scale;
    const std::int64_t in_ticks = nearest * decimal_.mantissa;
    const bool exact =
        shift >= 0 ? price.mantissa * powers_of_ten[static_cast<std::size_t>(shift)] == in_ticks
                   : static_cast<double>(in_ticks) *
                                 static_cast<double>(powers_of_ten[static_cast<std::size_t>(-shift)]) <
                             9e18 &&
                         price.mantissa == in_ticks * powers_of_ten[static_cast<std::size_t>(-shift)];
    if (exact && price.exact)
        return PriceStatus::exact;
    const double distance = std::abs(quotient - static_cast<double>(nearest));
    if (nearest == 0)
        return PriceStatus::off_tick;
    // The text of a float may have been rounded just past the midpoint between two ticks.
    const std::int64_t other = quotient < static_cast<double>(nearest) ? nearest - 1 : nearest + 1;
    for (const std::int64_t candidate : {nearest, other})
        if (candidate > 0 && candidate <= std::numeric_limits<Ticks>::max() &&
            is_float_of(price, candidate)) {
            ticks = static_cast<Ticks>(candidate);
            return PriceStatus::rounded;
        }
    if (distance > noise)
        return PriceStatus::off_tick;
    return distance <= quotient * float_precision ? PriceStatus::rounded : PriceStatus::noisy;
}

} // namespace rekindle::market::reading
