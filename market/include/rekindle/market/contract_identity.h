#pragma once
/// Determines the instrument from the name of a contract or of a file.

#include <filesystem>
#include <string>
#include <string_view>

namespace rekindle::market {

/// The information in a contract's name.
struct ContractIdentity {
    std::string instrument; ///< "ES" of "ES 03-25", "ESH5", "ESH25.CME" and "ES1!"; upper case
    bool has_month = false; ///< the name includes a delivery month, so it is a contract of the instrument
    /// Digits at the end of a name without a month. They count contracts ("1" of "ES1!") or belong to the
    /// instrument's name ("500" of "US500"); the name does not tell which.
    std::string number;
    friend bool operator==(const ContractIdentity&, const ContractIdentity&) = default;
};

/// Reads NinjaTrader names ("ES 03-25", "ES MAR25"), exchange codes with one, two or four digits of the year
/// ("ESH5", "ESH25", "CME_MINI:ESH2025", "ESH25.CME", "ESH5 Index"), dates ("BTCUSDT_240628", "ES202503",
/// "BTC-28JUN24") and continuous names ("ES1!", "@ES#"). Any other name is its own instrument; "" has none.
ContractIdentity identify_contract(std::string_view name);

/// Returns the words of a file name that may name the instrument, in lowercase, separated by spaces. Dates,
/// part numbers, bar lengths, and words such as "history" or "train" are left out. "btcusdt" for
/// "BTCUSDT-1m-2024-01.csv", "7203 t" for "7203.T.csv", "" for "2024.csv".
std::string instrument_words(const std::filesystem::path& file);

} // namespace rekindle::market
