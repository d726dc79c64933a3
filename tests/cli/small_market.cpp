#include "small_market.h"

#include <rekindle/base/philox.h>
#include <rekindle/market/clock.h>

#include <fmt/format.h>

#include <algorithm>

namespace rekindle::cli {

namespace {

constexpr int bars_per_day = 8;         ///< every three hours
constexpr double new_contract_gap = 10; ///< points

std::string make_vix(std::uint64_t seed) {
    PhiloxStream random(seed, RandomPurpose::test);
    std::string text = "DATE,OPEN,HIGH,LOW,CLOSE\n";
    const std::int32_t first = market::make_date(2023, 5, 1);
    for (std::int32_t date = first; date < first + 560; ++date) {
        const std::string day = market::format_date(date);
        const double close = 15 + 5 * random.next_double();
        if (!market::is_weekend(date))
            text += fmt::format("{}/{}/{},{:.2f},{:.2f},{:.2f},{:.2f}\n", day.substr(5, 2), day.substr(8, 2),
                                day.substr(0, 4), close, close + 1, close - 1, close);
    }
    return text;
}

struct Bar {
    int open, high, low, close; ///< in half points
    std::uint32_t volume;
};

Bar next_bar(PhiloxStream& random, int price) {
    const auto step = [&] { return static_cast<int>(random.next_below(9)) - 4; };
    const int close = price + step();
    const int high = std::max(price, close) + static_cast<int>(random.next_below(4));
    const int low = std::min(price, close) - static_cast<int>(random.next_below(4));
    return {price, high, low, close, 100 + random.next_below(100)};
}

std::string row(std::int32_t date, int hour, const Bar& bar, double gap, std::uint32_t volume,
                const char* contract) {
    return fmt::format("{} {:02}:00:00,{},{},{},{},{},{},{}\n", market::format_date(date), hour,
                       bar.open / 2.0 + gap, bar.high / 2.0 + gap, bar.low / 2.0 + gap, bar.close / 2.0 + gap,
                       volume, contract, volume % 17 + 1);
}

/// Daily bars of the weekdays among `days` days.
std::string make_days(std::uint64_t seed, std::int32_t first, int days, bool weekends = false) {
    PhiloxStream random(seed, RandomPurpose::test);
    std::string text = "date,open,high,low,close,volume\n";
    int price = 8000;
    for (std::int32_t date = first; date < first + days; ++date) {
        if (!weekends && market::is_weekend(date))
            continue;
        const Bar bar = next_bar(random, price);
        price = bar.close;
        text += fmt::format("{},{},{},{},{},{}\n", market::format_date(date), bar.open / 2.0, bar.high / 2.0,
                            bar.low / 2.0, bar.close / 2.0, bar.volume);
    }
    return text;
}

/// One layer of four units with tanh.
std::string network_description() {
    return R"({"version": 1, "initialization": "pytorch_default", "inputs": 54, "layers": [
        {"kind": "linear", "name": "input_layer", "inputs": 54, "outputs": 4},
        {"kind": "activation", "activation": "tanh", "inputs": 4},
        {"kind": "linear", "name": "output_layer", "inputs": 4, "outputs": 1}]})";
}

} // namespace

std::string make_bars(std::uint64_t seed, int first_day, int days) {
    PhiloxStream random(seed, RandomPurpose::test);
    std::string text = "timestamp,open,high,low,close,volume,contract,ticks\n";
    const std::int32_t new_trades = market::make_date(2024, 5, 27);
    const std::int32_t new_leads = market::make_date(2024, 6, 4);
    const std::int32_t old_ends = market::make_date(2024, 6, 22);
    int price = 8000;
    int day = 0;
    for (std::int32_t date = market::make_date(2023, 6, 5); day < days; ++date) {
        if (market::is_weekend(date))
            continue;
        for (int i = 0; i < bars_per_day; ++i) {
            const Bar bar = next_bar(random, price);
            price = bar.close;
            if (day < first_day)
                continue;
            const std::uint32_t lesser = 1 + bar.volume / 10;
            if (date < old_ends)
                text += row(date, 3 * i, bar, 0, date < new_leads ? bar.volume : lesser, "ES 06-24");
            if (date >= new_trades)
                text += row(date, 3 * i, bar, new_contract_gap, date < new_leads ? lesser : bar.volume,
                            "ES 09-24");
        }
        ++day;
    }
    return text;
}

SmallMarket::SmallMarket()
    : bars(folder_.file("bars.csv", make_bars(1, 0, 350))),
      other_bars(folder_.file("other.csv", make_bars(2, 0, 350))),
      short_bars(folder_.file("short.csv", make_bars(1, 50, 350))),
      malformed_bars(
          folder_.file("malformed.csv", make_bars(1, 0, 350) + "2024-11-01 00:00:00,1,2,x,1,1,ES 09-24,1\n")),
      vix(folder_.file("vix.csv", make_vix(1))), other_vix(folder_.file("other-vix.csv", make_vix(2))),
      unnamed_bars(folder_.file("alpha.csv", make_days(3, market::make_date(2023, 1, 2), 150))),
      later_bars(folder_.file("beta.csv", make_days(4, market::make_date(2023, 6, 1), 150))),
      coins(folder_.file("gamma.csv", make_days(5, market::make_date(2023, 1, 2), 210, true))),
      instruments(folder_.file("instruments.yaml",
                               "format: rekindle-instruments/1\nchecked: 2026-11-25\ninstruments:\n"
                               "  CL: {name: oil, zone: America/New_York, day_start: \"18:00\", "
                               "regular_hours: \"10:00-15:00\", source: a test}\n")),
      calendar(folder_.file("calendar.yaml", "format: rekindle-calendar/1\n"
                                             "name: a test\n"
                                             "valid_from: 2023-01-01\n"
                                             "valid_to: 2025-12-31\n"
                                             "checked: 2026-01-01\n"
                                             "source: none\n"
                                             "holidays: [2023-10-10, 2023-10-11]\n"
                                             "half_days: {}\n")),
      config(folder_.file("config.json", R"({"seed": 7})")),
      network(folder_.file("network.json", network_description())) {}

const SmallMarket& shared_market() {
    static const SmallMarket files;
    return files;
}

} // namespace rekindle::cli
