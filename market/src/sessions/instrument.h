#pragma once
/// Determines the instrument from a contract's name.

#include <rekindle/market/bars.h>
#include <rekindle/market/rolls.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace rekindle::market {

/// Letters of the delivery months, January to December.
inline constexpr std::string_view month_letters = "FGHJKMNQUVXZ";

/// The information in a contract's name.
struct ContractIdentity {
    std::string instrument; ///< "ES" of "ES 03-25", "ESH5", "ESH25.CME" and "ES1!"; upper case
    bool has_month = false; ///< the name includes a delivery month, so it is a contract of the instrument
    friend bool operator==(const ContractIdentity&, const ContractIdentity&) = default;
};

/// Reads NinjaTrader names ("ES 03-25", "ES MAR25"), exchange codes with one, two or four digits of the year
/// ("ESH5", "ESH25", "CME_MINI:ESH2025", "ESH25.CME", "ESH5 Index"), dates ("BTCUSDT_240628", "ES202503",
/// "BTC-28JUN24") and continuous names ("ES1!", "@ES#"). Any other name is its own instrument.
ContractIdentity identify_contract(std::string_view name);

/// Throws Error (usage) naming both contracts if they belong to different instruments.
void require_one_instrument(const BarMetadata& metadata);

/// Throws Error (usage) naming both contracts if a roll leads to a price that no other contract of the same
/// instrument could have. `first` is the first bar of the session that holds the new contract.
void require_near_prices(const BarTable& bars, std::size_t first, const Roll& roll);

} // namespace rekindle::market
