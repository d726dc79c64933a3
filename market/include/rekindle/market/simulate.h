#pragma once
/// Simulated one-minute bars that resemble an index future, for tests, benchmarks and first steps.

#include <rekindle/market/bars.h>
#include <rekindle/market/clock.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

namespace rekindle::market {

struct SimulateOptions {
    std::int64_t bars = 1'000'000; ///< rows, 1 to 1,000,000,000
    std::uint64_t seed = 42;
    std::int32_t start_date = 18'967; ///< first trading day, not before 1995; default 2021-12-06
    friend bool operator==(const SimulateOptions&, const SimulateOptions&) = default;
};

/// What is simulated: a price without drift whose volatility clusters (so there is no edge to learn), tick
/// 0.25, timestamps in UTC at the end of the bar; trading days from 18:00 to 17:00 New York time with the
/// daily halt, weekends, holidays and half days; volume that is high at the regular open and close and low
/// overnight; quarterly contracts, where the next one trades alongside the old one for two weeks at a
/// constant gap and overtakes it on the Monday before expiry; and a daily VIX-like value on the first bar of
/// each UTC date. The same options give the same bytes on every machine, because only Philox, the four basic
/// operations and square roots are used.

/// The bars as a table.
BarTable simulate_table(const SimulateOptions& options);

/// The bars as text in the layout of the merged CSV (docs/formats/bars.md). The first line starts
/// with "# synthetic:". `write` receives consecutive pieces. Throws Error (usage) for options out of range.
void simulate_csv(const SimulateOptions& options, const std::function<void(std::string_view)>& write);

/// Writes the same text to a file, atomically. Throws Error naming the file.
void simulate_file(const SimulateOptions& options, const std::filesystem::path& output);

} // namespace rekindle::market
