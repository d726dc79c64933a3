#pragma once
/// Which instrument a contract's name belongs to.

#include <rekindle/market/bars.h>
#include <rekindle/market/rolls.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace rekindle::market {

/// Months of delivery, January to December.
inline constexpr std::string_view month_letters = "FGHJKMNQUVXZ";

/// What a contract's name tells.
struct ContractIdentity {
    std::string instrument;   ///< "ES" of "ES 03-25", "ESH5", "ESH25.CME" and "ES1!"; upper case
    bool tells_month = false; ///< the name holds a month of delivery, so it is a contract of the instrument
    friend bool operator==(const ContractIdentity&, const ContractIdentity&) = default;
};

/// Reads NinjaTrader ("ES 03-25", "ES MAR25"), exchange codes of one, two or four digits of the year ("ESH5",
/// "ESH25", "CME_MINI:ESH2025", "ESH25.CME", "ESH5 Index"), dates ("BTCUSDT_240628", "ES202503",
/// "BTC-28JUN24") and continuous names ("ES1!", "@ES#"). Any other name is an instrument of its own.
ContractIdentity identify_contract(std::string_view name);

/// Throws Error (usage) with both names when the contracts are of different instruments.
void require_one_instrument(const BarMetadata& metadata);

/// Throws Error (usage) with both names when a roll changes to a price that no other contract of the same
/// instrument could have. `first` is the first bar of the session that holds the new contract.
void require_near_prices(const BarTable& bars, std::size_t first, const Roll& roll);

} // namespace rekindle::market
