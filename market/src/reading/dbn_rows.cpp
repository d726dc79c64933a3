#include "reading/dbn_rows.h"

#include "reading/stamp.h"
#include "reading/table_text.h"

#include <rekindle/foundation/error.h>
#include <rekindle/market/clock.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace rekindle::market::reading {

namespace {

constexpr std::int64_t per_second = 1'000'000'000;
constexpr std::size_t prefix_size = 8;
constexpr std::size_t smallest_metadata = 100;
constexpr std::size_t largest_metadata = std::size_t{64} << 20;

/// The dates [begin, end) on which an instrument has a symbol.
struct Interval {
    std::int64_t begin = 0, end = 0;
    std::string symbol;
};

/// Reads the metadata field by field. Throws Error (usage).
class MetadataReader {
  public:
    MetadataReader(std::string_view bytes, const std::filesystem::path& path) : bytes_(bytes), path_(path) {}

    template <class Number>
    Number number() {
        return number_at<Number>(take(sizeof(Number)), 0);
    }
    /// A text in a field of fixed size, padded with zero bytes.
    std::string text(std::size_t size) {
        const std::string_view field = take(size);
        return std::string(field.substr(0, field.find('\0')));
    }
    std::string_view take(std::size_t count) {
        if (count > bytes_.size())
            throw usage_error("the DBN file is damaged: its metadata ends early")
                .at(path_.string())
                .expected("a complete file")
                .hint("Download the file again.");
        const std::string_view taken = bytes_.substr(0, count);
        bytes_.remove_prefix(count);
        return taken;
    }

  private:
    std::string_view bytes_;
    const std::filesystem::path& path_;
};

std::int64_t date_of_number(std::uint32_t yyyymmdd) {
    const unsigned month = yyyymmdd / 100 % 100;
    if (month < 1 || month > 12)
        return std::numeric_limits<std::int64_t>::max();
    return days_from_civil(yyyymmdd / 10'000, month, yyyymmdd % 100);
}

/// The length of a bar of a schema (ohlcv-1s, -1m, -1h, -1d); 0 for other schemas and a mixture of them.
std::int64_t seconds_of_schema(std::uint16_t schema) {
    switch (schema) {
    case 5:
        return 1;
    case 6:
        return 60;
    case 7:
        return 3600;
    case 8:
        return day_seconds;
    default:
        return 0;
    }
}

class DbnRows final : public TableRows {
  public:
    DbnRows(std::filesystem::path path, RecordStream stream)
        : path_(std::move(path)), stream_(std::move(stream)) {
        const std::string_view prefix = stream_.peek(prefix_size);
        if (prefix.size() < prefix_size)
            throw cut_off();
        version_ = static_cast<unsigned char>(prefix[3]);
        const std::size_t size = number_at<std::uint32_t>(prefix, 4);
        if (version_ < 1 || version_ > 3)
            throw usage_error(fmt::format("version {} of Databento's DBN is not read", version_))
                .at(path_.string())
                .expected("version 1, 2 or 3")
                .hint(fmt::format("Convert it: dbn {} --csv --pretty-px --pretty-ts > bars.csv",
                                  path_.string()));
        if (size < smallest_metadata || size > largest_metadata ||
            stream_.peek(prefix_size + size).size() < prefix_size + size)
            throw cut_off();
        read_metadata(stream_.peek(prefix_size + size).substr(prefix_size));
        stream_.skip(prefix_size + size);
    }

    std::string format() const override { return fmt::format("Databento DBN {}", version_); }
    const std::string& header() const override { return header_; }
    bool stamps_begin_bars() const override { return true; }
    std::int64_t bar_seconds() const override { return bar_seconds_; }
    std::uint64_t bytes_done() const override { return stream_.bytes_done(); }
    std::uint64_t bytes_total() const override { return stream_.bytes_total(); }

    bool append(std::string& text) override {
        constexpr std::size_t piece = 1 << 16;
        const std::size_t old_size = text.size();
        while (text.size() - old_size < piece && append_record(text)) {
        }
        return text.size() > old_size;
    }

  private:
    Error cut_off() const {
        return usage_error("the DBN file ends early, as if it were cut off")
            .at(path_.string())
            .expected("a complete file")
            .hint("Download the file again.");
    }

    void read_metadata(std::string_view bytes) {
        MetadataReader reader(bytes, path_);
        reader.take(16); // data set
        bar_seconds_ = seconds_of_schema(reader.number<std::uint16_t>());
        reader.take(3 * 8); // start, end, limit
        if (version_ == 1)
            reader.take(8); // number of records
        reader.take(1);     // kind of the symbols that were asked for
        constexpr std::uint8_t instrument_number = 0;
        const bool numbers = reader.number<std::uint8_t>() == instrument_number;
        reader.take(1); // whether records have the time at which they were sent
        const std::size_t symbol_size = version_ == 1 ? 22 : reader.number<std::uint16_t>();
        reader.take(version_ == 1 ? 47 : 53);
        reader.take(reader.number<std::uint32_t>()); // definition of a schema
        for (int list = 0; list < 3; ++list)         // symbols, partly found, not found
            reader.take(std::size_t{reader.number<std::uint32_t>()} * symbol_size);
        for (auto left = reader.number<std::uint32_t>(); left > 0; --left) {
            const std::string symbol = reader.text(symbol_size);
            for (auto intervals = reader.number<std::uint32_t>(); intervals > 0; --intervals) {
                const std::int64_t begin = date_of_number(reader.number<std::uint32_t>());
                const std::int64_t end = date_of_number(reader.number<std::uint32_t>());
                const std::string mapped = reader.text(symbol_size);
                std::uint32_t instrument = 0;
                if (numbers && std::from_chars(mapped.data(), mapped.data() + mapped.size(), instrument).ec ==
                                   std::errc())
                    symbols_[instrument].push_back({begin, end, symbol});
            }
        }
    }

    /// Reads the next record and appends its row if it is a bar. Returns false at the end.
    bool append_record(std::string& text) {
        constexpr std::size_t smallest = 16;
        const std::string_view length = stream_.peek(1);
        if (length.empty())
            return false;
        const std::size_t size = std::size_t{static_cast<unsigned char>(length.front())} * 4;
        const std::string_view record = stream_.peek(size);
        if (size < smallest || record.size() < size)
            throw cut_off();
        const auto kind = static_cast<unsigned char>(record[1]);
        constexpr std::array<unsigned char, 6> bars{0x11, 0x20, 0x21, 0x22, 0x23, 0x24};
        // definitions, errors, symbols, system
        constexpr std::array<unsigned char, 4> messages{0x13, 0x15, 0x16, 0x17};
        constexpr std::size_t bar_size = 56;
        if (std::ranges::count(bars, kind) > 0 && size >= bar_size)
            append_row(record, text);
        else if (std::ranges::count(messages, kind) == 0)
            throw usage_error(
                fmt::format("the DBN file holds records of type 0x{:02X}, which are not bars", kind))
                .at(path_.string())
                .expected("the schema ohlcv-1s, ohlcv-1m, ohlcv-1h or ohlcv-1d")
                .hint("Request one of these schemas from Databento.");
        stream_.skip(size);
        return true;
    }

    void append_row(std::string_view record, std::string& text) {
        const auto instrument = number_at<std::uint32_t>(record, 4);
        // An undefined time (all bits set) becomes one in 2262, which the row parser rejects.
        constexpr std::uint64_t latest = std::numeric_limits<std::int64_t>::max();
        const auto time = static_cast<std::int64_t>(std::min(number_at<std::uint64_t>(record, 8), latest));
        append_time(time, per_second, text);
        text += 'Z';
        for (std::size_t i = 0; i < 4; ++i) {
            const auto price = number_at<std::int64_t>(record, 16 + 8 * i);
            text += ',';
            if (price != std::numeric_limits<std::int64_t>::max()) // undefined
                append_fixed(price, 9, text);
        }
        text += fmt::format(",{},", number_at<std::uint64_t>(record, 48));
        append_symbol(instrument, time / (day_seconds * per_second), text);
        text += '\n';
    }

    void append_symbol(std::uint32_t instrument, std::int64_t date, std::string& text) const {
        if (const auto found = symbols_.find(instrument); found != symbols_.end())
            for (const Interval& interval : found->second)
                if (date >= interval.begin && date < interval.end) {
                    append_quoted(interval.symbol, text);
                    return;
                }
        text += std::to_string(instrument);
    }

    std::filesystem::path path_;
    RecordStream stream_;
    unsigned version_ = 0;
    std::int64_t bar_seconds_ = 0;
    std::map<std::uint32_t, std::vector<Interval>> symbols_;
    std::string header_ = "ts_event,open,high,low,close,volume,symbol\n";
};

} // namespace

std::unique_ptr<TableRows> read_dbn(std::filesystem::path path, RecordStream stream) {
    return std::make_unique<DbnRows>(std::move(path), std::move(stream));
}

} // namespace rekindle::market::reading
