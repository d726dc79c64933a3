#include "reading/scid_rows.h"

#include "reading/table_text.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/clock.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>

namespace rekindle::market::reading {

namespace {

constexpr std::size_t header_size = 56;
constexpr std::size_t record_size = 40;
constexpr std::int64_t per_second = 1'000'000;
constexpr std::int64_t minute = 60 * per_second;

/// Whether eight bytes are an older file's time, a double in days. Read as microseconds, they would be more
/// than 30,000 years.
bool is_in_days(std::uint64_t bytes) {
    constexpr std::uint64_t most_microseconds = std::uint64_t{1} << 60;
    const double days = std::bit_cast<double>(bytes);
    return bytes > most_microseconds && days > 0 && days < 1e6;
}

/// Converts an older file's time to microseconds, rounded to the milliseconds that such files resolve.
std::uint64_t microseconds_of_days(std::uint64_t bytes) {
    constexpr std::int64_t milliseconds = 1000;
    return static_cast<std::uint64_t>(
        std::llround(std::bit_cast<double>(bytes) * static_cast<double>(day_seconds * milliseconds)) *
        (per_second / milliseconds));
}

/// A record, or several trades of one minute.
struct ScidBar {
    std::int64_t time = 0; ///< of its beginning, microseconds since 1970
    float open = 0, high = 0, low = 0, close = 0;
    std::uint64_t trades = 0, volume = 0, bid_volume = 0, ask_volume = 0;
};

/// Whether the record is a single trade: its open is then 0 or one of two huge negative markers, and its high
/// and low are the ask and the bid.
bool is_trade(const ScidBar& bar) {
    constexpr float markers = -1e37F;
    return bar.open == 0 || bar.open < markers;
}

std::int64_t start_of_minute(std::int64_t time) {
    const std::int64_t rest = time % minute;
    return time - rest - (rest < 0 ? minute : 0);
}

void add_trade(ScidBar& bar, const ScidBar& trade) {
    bar.high = std::max(bar.high, trade.close);
    bar.low = std::min(bar.low, trade.close);
    bar.close = trade.close;
    bar.trades += trade.trades;
    bar.volume += trade.volume;
    bar.bid_volume += trade.bid_volume;
    bar.ask_volume += trade.ask_volume;
}

class ScidRows final : public TableRows {
  public:
    ScidRows(std::filesystem::path path, RecordStream stream)
        : path_(std::move(path)), stream_(std::move(stream)) {
        const std::string_view header = stream_.peek(header_size);
        if (header.size() < header_size || number_at<std::uint32_t>(header, 4) != header_size ||
            number_at<std::uint32_t>(header, 8) != record_size)
            throw usage_error("the SCID file has a header of another kind")
                .at(path_.string())
                .expected("a header of 56 bytes and records of 40 bytes")
                .hint("In Sierra Chart: Edit > Export Bar and Study Data to Text File.");
        constexpr std::size_t first_in_utc = 16;
        const auto local_records = number_at<std::uint32_t>(header, first_in_utc);
        stream_.skip(header_size);
        const std::string_view record = stream_.peek(record_size);
        in_days_ = record.size() == record_size && is_in_days(number_at<std::uint64_t>(record, 0));
        if (in_days_ && local_records > 0)
            throw usage_error(fmt::format("an older Sierra Chart wrote this SCID file, and the time zone of "
                                          "the first {} is unknown",
                                          counted(local_records, "record")))
                .at(path_.string())
                .expected("times in UTC from the first record on")
                .hint("In Sierra Chart: Edit > Export Bar and Study Data to Text File.");
        const auto first = peek_record();
        trades_ = first && is_trade(*first);
    }

    std::string format() const override { return "Sierra Chart SCID"; }
    const std::string& header() const override { return header_; }
    bool stamps_begin_bars() const override { return true; }
    std::uint64_t bytes_done() const override { return stream_.bytes_done(); }
    std::uint64_t bytes_total() const override { return stream_.bytes_total(); }
    std::vector<std::string> notes() const override {
        if (!trades_)
            return {};
        return {fmt::format("{} holds single trades, which were added up to bars of one minute.",
                            path_.string())};
    }

    bool append(std::string& text) override {
        constexpr std::size_t piece = 1 << 16;
        const std::size_t old_size = text.size();
        while (text.size() - old_size < piece) {
            const auto bar = next_bar();
            if (!bar)
                break;
            append_row(*bar, text);
        }
        return text.size() > old_size;
    }

  private:
    std::optional<ScidBar> peek_record() {
        const std::string_view record = stream_.peek(record_size);
        if (record.empty())
            return std::nullopt;
        if (record.size() < record_size)
            throw usage_error("the SCID file ends within a record, as if it were cut off")
                .at(path_.string())
                .expected("a complete file")
                .hint("Copy the file again while Sierra Chart is not writing to it.");
        constexpr std::int64_t days_from_1899_to_1970 = 25'569; // since December 30
        // Unsigned, because the difference overflows in damaged records; their times are then rejected.
        const auto stored = number_at<std::uint64_t>(record, 0);
        if (in_days_ && !is_in_days(stored))
            throw usage_error("the SCID file has times of two kinds, so it is probably damaged")
                .at(path_.string());
        const auto time = static_cast<std::int64_t>(
            (in_days_ ? microseconds_of_days(stored) : stored) -
            static_cast<std::uint64_t>(days_from_1899_to_1970 * day_seconds * per_second));
        return ScidBar{time,
                       number_at<float>(record, 8),
                       number_at<float>(record, 12),
                       number_at<float>(record, 16),
                       number_at<float>(record, 20),
                       number_at<std::uint32_t>(record, 24),
                       number_at<std::uint32_t>(record, 28),
                       number_at<std::uint32_t>(record, 32),
                       number_at<std::uint32_t>(record, 36)};
    }

    std::optional<ScidBar> next_bar() {
        auto bar = peek_record();
        if (!bar)
            return bar;
        stream_.skip(record_size);
        if (!is_trade(*bar))
            return bar;
        bar->time = start_of_minute(bar->time);
        bar->open = bar->high = bar->low = bar->close;
        for (auto more = peek_record(); more && is_trade(*more) && start_of_minute(more->time) == bar->time;
             more = peek_record()) {
            add_trade(*bar, *more);
            stream_.skip(record_size);
        }
        return bar;
    }

    static void append_row(const ScidBar& bar, std::string& text) {
        append_time(bar.time, per_second, text);
        text += 'Z';
        for (const float price : {bar.open, bar.high, bar.low, bar.close}) {
            text += ',';
            append_real(price, text);
        }
        for (const std::uint64_t count : {bar.volume, bar.trades, bar.bid_volume, bar.ask_volume})
            text += ',', text += std::to_string(count);
        text += '\n';
    }

    std::filesystem::path path_;
    RecordStream stream_;
    bool in_days_ = false; ///< an older file, whose times are days instead of microseconds
    bool trades_ = false;
    std::string header_ = "open_time,open,high,low,close,volume,trades,bid_volume,ask_volume\n";
};

} // namespace

std::unique_ptr<TableRows> read_scid(std::filesystem::path path, RecordStream stream) {
    return std::make_unique<ScidRows>(std::move(path), std::move(stream));
}

} // namespace rekindle::market::reading
