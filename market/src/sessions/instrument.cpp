#include "sessions/instrument.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/profile_output.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>
#include <utility>

namespace rekindle::market {
namespace {

constexpr std::array<std::string_view, 12> month_names{"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                                       "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};

/// Largest log price difference between two contracts: a factor of two if both names include the month (it
/// occurs between two deliveries of power or gas), less otherwise, because the names alone do not prove that
/// they are the same instrument.
const double farthest_months = std::log(2.0);
const double farthest_others = std::log(1.25);

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_separator(char c) {
    return c == ' ' || c == '_' || c == '-' || c == '.';
}

/// Reads a name from its end.
class Tail {
  public:
    explicit Tail(std::string_view text) : rest_(text) {}
    std::string_view rest() const { return rest_; }
    /// Takes all digits at the end.
    std::string_view digits() {
        std::size_t begin = rest_.size();
        while (begin > 0 && is_digit(rest_[begin - 1]))
            --begin;
        return take(rest_.size() - begin);
    }
    bool separator() {
        if (rest_.empty() || !is_separator(rest_.back()))
            return false;
        rest_.remove_suffix(1);
        return true;
    }
    bool month_name() {
        if (rest_.size() < 3 || std::find(month_names.begin(), month_names.end(),
                                          rest_.substr(rest_.size() - 3)) == month_names.end())
            return false;
        rest_.remove_suffix(3);
        return true;
    }
    bool month_letter() {
        if (rest_.empty() || month_letters.find(rest_.back()) == std::string_view::npos)
            return false;
        rest_.remove_suffix(1);
        return true;
    }

  private:
    std::string_view take(std::size_t count) {
        const std::string_view taken = rest_.substr(rest_.size() - count);
        rest_.remove_suffix(count);
        return taken;
    }
    std::string_view rest_;
};

bool is_month(std::string_view two_digits) {
    const int month = (two_digits[0] - '0') * 10 + two_digits[1] - '0';
    return month >= 1 && month <= 12;
}

bool is_century(std::string_view year) {
    return year.starts_with("19") || year.starts_with("20");
}

/// 240628, 202503, 20250321
bool is_date(std::string_view digits) {
    if (digits.size() == 8)
        return is_century(digits) && is_month(digits.substr(4, 2));
    return digits.size() == 6 &&
           (is_month(digits.substr(2, 2)) || (is_century(digits) && is_month(digits.substr(4, 2))));
}

/// The part before the delivery month; empty if the name does not include one.
std::optional<std::string_view> before_month(std::string_view name) {
    Tail tail(name);
    const std::string_view year = tail.digits();
    if (year.empty())
        return std::nullopt;
    if (year.size() >= 6)
        return is_date(year) ? std::optional(tail.rest()) : std::nullopt;
    if (year.size() == 3 || year.size() == 5)
        return std::nullopt;
    Tail words = tail;
    words.separator();
    if (year.size() != 1 && words.month_name()) { // ES MAR25, BTC-28JUN24
        words.digits();
        return words.rest();
    }
    if (Tail code = tail; code.month_letter() && !code.rest().empty() && !is_separator(code.rest().back()))
        return code.rest(); // ESH5, ESH25, ESH2025
    if (year.size() == 1)
        return std::nullopt;
    if (tail.separator()) // ES 03-25, ES_03_22
        if (const std::string_view month = tail.digits(); month.size() == 2 && is_month(month))
            return tail.rest();
    return std::nullopt;
}

std::string_view without_end(std::string_view text, std::string_view ends) {
    while (!text.empty() && ends.find(text.back()) != std::string_view::npos)
        text.remove_suffix(1);
    return text;
}

std::string quoted(const BarMetadata& metadata, std::size_t contract) {
    const std::string& name = metadata.contracts[contract];
    return name.empty() ? "bars without a contract name" : "\"" + name + "\"";
}

[[noreturn]] void refuse(const BarMetadata& metadata, std::size_t one, std::size_t other,
                         const std::string& why) {
    throw usage_error("the data contain different instruments, " + quoted(metadata, one) + " and " +
                      quoted(metadata, other) + ": " + why)
        .expected("contracts of one instrument")
        .hint(
            "Choose one with --contract NAME, or read its files separately. --several-instruments trains one "
            "model on all of them.");
}

} // namespace

ContractIdentity identify_contract(std::string_view name) {
    std::string upper;
    for (const char c : trim(name))
        upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    std::string_view text = upper;
    if (const std::size_t colon = text.rfind(':'); colon != std::string_view::npos && colon + 1 < text.size())
        text.remove_prefix(colon + 1);
    while (text.size() > 1 && std::string_view("/@#").find(text.front()) != std::string_view::npos)
        text.remove_prefix(1);
    for (const std::string_view ending : {" INDEX", " COMDTY", " CURNCY"})
        if (text.ends_with(ending))
            text.remove_suffix(ending.size());
    auto root = before_month(text);
    if (const std::size_t point = text.rfind('.'); !root && point != std::string_view::npos)
        root = before_month(text.substr(0, point)); // ESH25.CME
    if (root)
        if (const std::string_view bare = without_end(*root, " _-."); !bare.empty())
            return {std::string(bare), true, ""};
    const std::string_view bare = without_end(text, "0123456789!# _-.");
    if (bare.empty())
        return {std::string(text), false, ""};
    std::string number(text.substr(bare.size()));
    std::erase_if(number, [](char c) { return !is_digit(c); });
    return {std::string(bare), false, std::move(number)};
}

void require_one_instrument(const BarMetadata& metadata) {
    for (std::size_t i = 1; i < metadata.contracts.size(); ++i)
        if (identify_contract(metadata.contracts[i]).instrument !=
            identify_contract(metadata.contracts[0]).instrument)
            refuse(metadata, 0, i, "a change from one to the other is not a roll");
}

void require_near_prices(const BarTable& bars, std::size_t first, const Roll& roll) {
    if (roll.gap_distance < 0)
        return; // prices are not compared across an unknown gap
    const BarColumns& columns = bars.columns();
    std::size_t i = first;
    while (i + 1 < bars.size() && columns.contract[i] != roll.to)
        ++i;
    const auto to = static_cast<double>(columns.open[i]);
    const double from = to - static_cast<double>(roll.gap_ticks);
    const auto& names = bars.metadata().contracts;
    const bool months_known =
        identify_contract(names[roll.from]).has_month && identify_contract(names[roll.to]).has_month;
    if (from > 0 && std::abs(std::log(to / from)) <= (months_known ? farthest_months : farthest_others))
        return;
    const TickSize tick = bars.metadata().tick;
    refuse(bars.metadata(), roll.from, roll.to,
           "on " + format_date(roll.date) + " their prices are about " + price_text(from, tick) + " and " +
               price_text(to, tick) + " points");
}

} // namespace rekindle::market
