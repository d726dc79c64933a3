#include "simulate/simulated_market.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/market/simulate.h>

#include <limits>

namespace rekindle::market {
namespace {

constexpr std::int64_t max_bars = 1'000'000'000;
constexpr std::size_t piece_bytes = 1 << 18;

void check(const SimulateOptions& options) {
    if (options.bars < 1 || options.bars > max_bars)
        throw usage_error("cannot simulate " + counted(options.bars, "bar"))
            .expected("1 to " + with_thousands(max_bars));
    if (options.start_date < make_date(1995, 1, 1) || options.start_date > make_date(2200, 1, 1))
        throw usage_error("cannot simulate from " + format_date(options.start_date))
            .expected("a date from 1995 to 2199");
}

/// Calls use(bar, contracts) for each requested bar.
template <class Use>
void for_each_bar(const SimulateOptions& options, Use use) {
    check(options);
    SimulatedMarket market(options);
    std::vector<SimulatedBar> day;
    for (std::int64_t left = options.bars; left > 0;) {
        day.clear();
        market.next_day(day);
        for (const SimulatedBar& bar : day) {
            if (left-- == 0)
                return;
            use(bar, market.contracts());
        }
    }
}

void put_padded(std::string& text, std::int64_t value, int digits) {
    char figures[20];
    for (int i = digits; i-- > 0; value /= 10)
        figures[i] = static_cast<char>('0' + value % 10);
    text.append(figures, static_cast<std::size_t>(digits));
}

/// A quarter-point price as "4527.25", or "4527.00".
void put_price(std::string& text, std::int64_t ticks) {
    text += std::to_string(ticks / 4);
    text += '.';
    put_padded(text, ticks % 4 * 25, 2);
}

/// (close - before) / before with six decimals, rounded half away from zero.
void put_return(std::string& text, std::int64_t close, std::int64_t before) {
    const std::int64_t change = (close - before) * 1'000'000;
    const std::int64_t magnitude = ((change < 0 ? -change : change) + before / 2) / before;
    if (change < 0 && magnitude > 0)
        text += '-';
    text += std::to_string(magnitude / 1'000'000);
    text += '.';
    put_padded(text, magnitude % 1'000'000, 6);
}

/// Rows of the merged layout.
class MergedRows {
  public:
    void put(std::string& text, const SimulatedBar& bar, const std::vector<std::string>& contracts) {
        const std::int32_t date = date_of(bar.time);
        if (date != date_) {
            date_ = date;
            date_text_ = format_date(date);
        }
        const std::int64_t minute = (bar.time - std::int64_t{date} * day_seconds) / 60;
        text += date_text_;
        text += ' ';
        put_padded(text, minute / 60, 2);
        text += ':';
        put_padded(text, minute % 60, 2);
        text += ":00,";
        for (const Ticks price : {bar.open, bar.high, bar.low, bar.close}) {
            put_price(text, price);
            text += ',';
        }
        text += std::to_string(bar.volume);
        text += ',';
        text += contracts[bar.contract];
        text += minute >= std::int64_t{9} * 60 + 30 && minute < std::int64_t{16} * 60
                    ? ",RTH,"
                    : ",ETH,"; // by the label, as in the original system
        text += date_text_;
        text += ',';
        put_price(text, bar.high - bar.low);
        text += ',';
        if (close_.size() < contracts.size())
            close_.resize(contracts.size());
        if (close_[bar.contract] != 0)
            put_return(text, bar.close, close_[bar.contract]);
        close_[bar.contract] = bar.close;
        text += ',';
        if (bar.vix_cents != 0) {
            text += std::to_string(bar.vix_cents / 100);
            text += '.';
            put_padded(text, bar.vix_cents % 100, 2);
        }
        text += '\n';
    }

  private:
    std::int32_t date_ = std::numeric_limits<std::int32_t>::min();
    std::string date_text_;
    std::vector<Ticks> close_; ///< last close of each contract, 0 before its first bar
};

} // namespace

BarTable simulate_table(const SimulateOptions& options) {
    BarBuffer buffer;
    BarMetadata metadata;
    float vix = std::numeric_limits<float>::quiet_NaN();
    for_each_bar(options, [&](const SimulatedBar& bar, const std::vector<std::string>& contracts) {
        if (bar.vix_cents != 0)
            vix = static_cast<float>(bar.vix_cents) / 100.0f;
        if (metadata.contracts.size() < bar.contract + 1u)
            metadata.contracts.push_back(contracts[bar.contract]);
        buffer.time.push_back(bar.time);
        buffer.open.push_back(bar.open);
        buffer.high.push_back(bar.high);
        buffer.low.push_back(bar.low);
        buffer.close.push_back(bar.close);
        buffer.volume.push_back(bar.volume);
        buffer.contract.push_back(bar.contract);
        buffer.vix.push_back(vix);
    });
    return BarBuffer::into_table(std::move(buffer), std::move(metadata));
}

void simulate_csv(const SimulateOptions& options, const std::function<void(std::string_view)>& write) {
    check(options);
    std::string text =
        "# synthetic: made by rekindle simulate --bars " + std::to_string(options.bars) + " --seed " +
        std::to_string(options.seed) + " from " + format_date(options.start_date) +
        "; no market ever traded this; stamps are UTC at the end of the bar\n"
        "timestamp,open,high,low,close,volume,contract,session,date,bar_range,bar_return,VIX\n";
    MergedRows rows;
    for_each_bar(options, [&](const SimulatedBar& bar, const std::vector<std::string>& contracts) {
        rows.put(text, bar, contracts);
        if (text.size() >= piece_bytes) {
            write(text);
            text.clear();
        }
    });
    write(text);
}

void simulate_file(const SimulateOptions& options, const std::filesystem::path& output) {
    check(options);
    AtomicFile file(output);
    simulate_csv(options, [&](std::string_view piece) { file.write(piece); });
    file.commit();
}

} // namespace rekindle::market
