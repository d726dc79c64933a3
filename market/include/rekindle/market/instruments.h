#pragma once
/// The list of instruments with their ticks, point values, zones and hours; docs/formats/instruments.md
/// describes the file.

#include <rekindle/market/bars.h>
#include <rekindle/market/calendar.h>
#include <rekindle/market/session.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::market {

/// Times are minutes since midnight in `zone`.
struct Instrument {
    struct Hours {
        int open = 0;
        int close = 0;
        friend bool operator==(const Hours&, const Hours&) = default;
    };
    std::string symbol; ///< "ES"
    std::string name;   ///< "E-mini S&P 500"
    double tick = 0;    ///< in points; 0 if it differs between instruments of this kind
    double point_value = 1;
    std::string currency; ///< of point_value, "" if it differs
    std::string zone;     ///< IANA name, of the exchange
    int day_start = 0;    ///< as SessionRules::day_start
    std::optional<Hours> regular;
    std::optional<DailyHalt> halt; ///< daily maintenance
    bool weekends = false;         ///< trades on all seven days
    /// Prices may be below zero, so four equal prices below zero are a bar, not missing prices.
    bool negative_prices = false;
    std::string holidays = "us-cash-equities"; ///< as HolidayCalendar::named
    /// Names by which data vendors know it besides `symbol`, in upper case without separators; an asterisk at
    /// the beginning or end stands for two or more characters.
    std::vector<std::string> names;
    std::string source;

    /// Session rules with the instrument's zone, days and hours, and defaults for everything else.
    SessionRules session_rules() const;
    HolidayCalendar calendar() const;
};

/// Whether daily bars with this name (of a contract or a file) may end after the regular close of stocks:
/// true for contracts of futures, symbols of the built-in list, and currency pairs. Some of these are also
/// tickers of stocks, whose bars are then taken to be known later than they are.
bool may_trade_past_the_close(std::string_view name);

/// A list of instruments. Immutable, thread-safe.
class InstrumentTable {
  public:
    /// The built-in list.
    static const InstrumentTable& embedded();
    /// Reads a file. Throws Error (usage) with file and line.
    static InstrumentTable load(const std::filesystem::path& path);
    /// Reads the text of a file; `where` names the file in errors. Throws as load() does.
    static InstrumentTable parse(std::string_view yaml, const std::string& where);

    /// In the order of the file.
    const std::vector<Instrument>& all() const noexcept { return instruments_; }
    /// The instrument with this symbol, in upper or lower case; nullptr if the list has none. The table owns
    /// it.
    const Instrument* find(std::string_view symbol) const;
    /// As find(), but throws Error (usage) listing the symbols if there is none.
    const Instrument& get(std::string_view symbol) const;
    /// The instrument that all these contracts belong to, judging by their names; nullptr if the names do not
    /// tell. A symbol counts only with a delivery month (ESH25) or in a continuous contract (ES1!, @ES#,
    /// ES=F), because ES alone is also the ticker of a stock; Instrument::names count as they are.
    const Instrument* of_contracts(const std::vector<std::string>& contracts) const;
    /// The same for files without contracts, from the words of their names (EUR_USD-2024.csv).
    const Instrument* of_files(const std::vector<std::filesystem::path>& files) const;
    /// When the list was checked: days since 1970-01-01.
    std::int32_t checked() const noexcept { return checked_; }

  private:
    const Instrument* named(std::string_view name) const;

    std::vector<Instrument> instruments_;
    std::int32_t checked_ = 0;
};

} // namespace rekindle::market
