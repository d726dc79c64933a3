#pragma once
/// Names of contracts as vendors write them, for every test that compares instruments.

#include <utility>
#include <vector>

namespace rekindle::test {

/// Names of contracts of ES that include the delivery month.
inline const std::vector<const char*> contracts_of_es{
    "ES 03-25",    "ES_03_22",         "ES 12-2024",  "ESH25",       "ESH5",       "ESM5",      "ESZ2024",
    "es 06-25",    "es 03-25",         "ES MAR25",    "ES JAN25",    "ES JUN25",   "ES AUG25",  "ES NOV 25",
    "ES JUN 2025", "CME_MINI:ESH2025", "/ESM25",      "@ESU25",      "ESH25.CME",  "ESM25.CME", "ESH5 Index",
    "ESM5 Index",  "ES202503",         "ES_20250321", "ES_20250620", "ES-28JUN24", "ES_240628"};

/// Names of ES without a month, and the number at their end.
inline const std::vector<std::pair<const char*, const char*>> names_of_es{
    {"ES", ""}, {"es ", ""}, {"@ES#", ""}, {"ES1!", "1"}, {"ES2!", "2"}, {"ES2", "2"}};

/// Contracts of other instruments.
inline const std::vector<std::pair<const char*, const char*>> other_contracts{
    {"6EH25", "6E"},        {"ZN 06-25", "ZN"},    {"FDAXH25", "FDAX"}, {"BTCUSDT_240628", "BTCUSDT"},
    {"MNQZ4", "MNQ"},       {"MNQZ2024", "MNQ"},   {"6E 06-24", "6E"},  {"BTC-28JUN24", "BTC"},
    {"BTC-27SEP24", "BTC"}, {"US500H25", "US500"}, {"US30H25", "US30"}};

/// All of them are different instruments. "" names none.
inline const std::vector<const char*> different_instruments{
    "ES 03-25", "MES 03-25", "NQH25",   "BTCUSDT", "ETHUSDT", "AAPL",  "MSFT", "BRK.A", "BRK.B",
    "EUR/USD",  "EUR/JPY",   "BTC-USD", "BTC-EUR", "^GSPC",   "^IXIC", "SPY",  "QQQ",   ""};

} // namespace rekindle::test
