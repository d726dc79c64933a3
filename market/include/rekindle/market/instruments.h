#pragma once
/// What is known about instruments: ticks, values, zones and hours. docs/formats/instruments.md has the file
/// format.

#include <rekindle/market/bars.h>
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
    std::optional<Hours> halt;    ///< daily maintenance
    bool weekends = false;        ///< trades on all seven days
    bool negative_prices = false; ///< has traded, or may trade, below zero
    std::string source;

    /// The rules of SessionRules that follow from the instrument; the others have their defaults.
    SessionRules session_rules() const;
};

/// Whether daily bars of this name, of a contract or a file, may last longer than the regular hours of
/// stocks: contracts of futures, symbols in the embedded list, and pairs of currencies. Some are also tickers
/// of stocks; bars of those are then known later than they could be.
bool may_trade_past_the_close(std::string_view name);

/// A list of instruments. Immutable, thread-safe.
class InstrumentTable {
  public:
    /// The list in the program.
    static const InstrumentTable& embedded();
    /// Reads a file. Throws Error (usage) with file and line.
    static InstrumentTable load(const std::filesystem::path& path);
    static InstrumentTable parse(std::string_view yaml, const std::string& where);

    /// In the order of the file.
    const std::vector<Instrument>& all() const noexcept { return instruments_; }
    /// By symbol, in any case. nullptr if there is none.
    const Instrument* find(std::string_view symbol) const;
    /// The same; throws Error (usage) listing the symbols if there is none.
    const Instrument& get(std::string_view symbol) const;
    /// The instrument of which the bars are contracts, from their names; nullptr if the names do not tell.
    /// Names without a delivery month count only if they are continuous contracts (ES1!, @ES#, ES=F).
    const Instrument* of_contracts(const std::vector<std::string>& contracts) const;
    /// When the list was checked: days since 1970-01-01.
    std::int32_t checked() const noexcept { return checked_; }

  private:
    std::vector<Instrument> instruments_;
    std::int32_t checked_ = 0;
};

} // namespace rekindle::market
