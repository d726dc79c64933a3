#pragma once
/// What trading an instrument typically costs; docs/formats/trading-costs.md describes the file.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::market {

/// Typical costs for a trader who is not a member of the exchange; traders should replace them with their
/// own. Each fill of an order (not each trade) costs commission; each fill at a market price also costs
/// slippage.
struct TradingCosts {
    std::string symbol;            ///< as Instrument::symbol; "" for instruments that are not in the list
    double commission = 0;         ///< money per contract, share or coin, in the currency of the point value
    double commission_percent = 0; ///< of the traded value
    double slippage_ticks = 0;     ///< in ticks of the instrument
    double slippage_percent = 0;   ///< of the price
    double margin_percent = 100;   ///< share of the position's value that equity must cover
    std::string source;
};

/// A list of costs. Immutable, thread-safe.
class TradingCostsTable {
  public:
    /// The built-in list.
    static const TradingCostsTable& embedded();
    /// Reads a file. Throws Error (usage) with file and line.
    static TradingCostsTable load(const std::filesystem::path& path);
    /// Reads the text of a file; `where` names the file in errors. Throws as load() does.
    static TradingCostsTable parse(std::string_view yaml, const std::string& where);

    /// The costs of the instrument with this symbol, in upper or lower case. If the list does not have the
    /// symbol, returns its entry OTHER.
    const TradingCosts& of(std::string_view symbol) const;
    /// The entries in the order of the file, without OTHER.
    const std::vector<TradingCosts>& all() const noexcept { return costs_; }
    /// When the list was checked: days since 1970-01-01.
    std::int32_t checked() const noexcept { return checked_; }

  private:
    std::vector<TradingCosts> costs_;
    TradingCosts others_;
    std::int32_t checked_ = 0;
};

} // namespace rekindle::market
