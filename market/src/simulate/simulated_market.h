#pragma once
/// The model behind `rekindle simulate`: prices, volumes and contracts minute by minute.

#include <rekindle/base/philox.h>
#include <rekindle/market/bars.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/simulate.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rekindle::market {

struct SimulatedBar {
    std::int64_t time = 0;
    Ticks open = 0, high = 0, low = 0, close = 0;
    std::int64_t volume = 0;
    std::uint16_t contract = 0;
    std::int32_t vix_cents = 0; ///< 0: none on this bar
};

/// Generates bars in order of time and contract, one trading day at a time.
class SimulatedMarket {
  public:
    explicit SimulatedMarket(const SimulateOptions& options);

    /// Appends the bars of the next trading day.
    void next_day(std::vector<SimulatedBar>& bars);
    /// Names of the contracts that have traded so far.
    const std::vector<std::string>& contracts() const noexcept { return names_; }

  private:
    static constexpr int day_minutes = 23 * 60;
    struct Minute {
        double volume = 0; ///< expected volume in a quiet market
        double sigma = 0;  ///< std of the relative price change
        bool may_be_empty = false;
    };
    struct Path {
        double open = 0, high = 0, low = 0, close = 0; ///< in ticks, before adding the contract's gap
    };

    void list_contract(std::int32_t expiry);
    void roll_contracts();
    int last_minute_of_day() const;
    Path walk(const Minute& minute, PhiloxStream& random);
    void add_bar(std::vector<SimulatedBar>& bars, std::int64_t time, const Path& path, std::int64_t volume,
                 std::uint16_t contract);

    SimulateOptions options_;
    ZoneClock zone_;
    std::array<Minute, day_minutes + 1> minutes_{}; ///< index: minutes since the trading day began
    std::int32_t date_;
    double price_ = 18'200;      ///< ticks
    double day_variance_ = 1;    ///< slow part of the volatility, mean 1
    double minute_variance_ = 1; ///< fast part, mean 1
    std::int32_t last_vix_date_ = 0;
    std::vector<std::string> names_;
    std::vector<std::int32_t> expiries_;
    std::vector<Ticks> gaps_; ///< gap of each contract relative to the first
    std::uint16_t front_ = 0;
};

} // namespace rekindle::market
