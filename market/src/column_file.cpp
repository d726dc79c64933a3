#include "column_file_writer.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/column_file.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <limits>

namespace rekindle::market {

namespace {

constexpr std::string_view magic = "RKBARS\r\n";
constexpr std::uint32_t version = 2;
constexpr std::uint32_t oldest_version = 1; ///< without volumes at the bid and at the ask
constexpr std::uint64_t alignment = 64;
constexpr std::uint64_t max_header = 1 << 26;
constexpr std::size_t prologue = 8 + 4 + 4; ///< magic, version, length of the JSON header

constexpr std::uint64_t aligned(std::uint64_t offset) {
    return (offset + alignment - 1) / alignment * alignment;
}

std::vector<ColumnSpec> column_layout(OptionalColumns optional) {
    std::vector<ColumnSpec> columns{{"time", "int64", 8},     {"open", "int32", 4},  {"high", "int32", 4},
                                    {"low", "int32", 4},      {"close", "int32", 4}, {"volume", "int64", 8},
                                    {"contract", "uint16", 2}};
    if (optional.vix)
        columns.push_back({"vix", "float32", 4});
    if (optional.sides)
        columns.insert(columns.end(), {{"bid_volume", "int64", 8}, {"ask_volume", "int64", 8}});
    return columns;
}

nlohmann::ordered_json header_json(const BarMetadata& metadata, std::uint64_t rows,
                                   OptionalColumns optional) {
    nlohmann::ordered_json json;
    json["rows"] = rows;
    json["tick"] = metadata.tick.points;
    json["profile_bin"] = metadata.profile_bin;
    if (metadata.volume_decimals != 0)
        json["volume_decimals"] = metadata.volume_decimals;
    json["bar_seconds"] = metadata.bar_seconds;
    json["dates_only"] = metadata.dates_only;
    if (metadata.dates_only) {
        json["utc_days"] = metadata.utc_days;
        json["day_end_minute"] = metadata.day_end_minute;
        json["named_like_futures"] = metadata.named_like_futures;
    }
    json["contracts"] = metadata.contracts;
    json["vix"] = optional.vix;
    if (optional.sides)
        json["sides"] = true;
    return json;
}

/// Offsets depend only on the header's length and the number of rows.
void set_offsets(std::vector<ColumnSpec>& columns, std::uint64_t header_end, std::uint64_t rows) {
    std::uint64_t offset = header_end;
    for (ColumnSpec& column : columns) {
        column.offset = aligned(offset);
        offset = column.offset + rows * column.width;
    }
}

std::uint64_t file_size(const std::vector<ColumnSpec>& columns, std::uint64_t rows) {
    return columns.back().offset + rows * columns.back().width;
}

template <class T>
void write_number(AtomicFile& file, T value) {
    file.write(std::as_bytes(std::span(&value, 1)));
}

Error damaged(const std::filesystem::path& path, std::string what) {
    return usage_error(std::move(what))
        .at(path.string())
        .expected("a Rekindle column file, version 1 or 2")
        .hint("Delete it and read the bars again.");
}

template <class T>
std::span<const T> column(const MappedFile& file, const ColumnSpec& spec, std::uint64_t rows) {
    return {reinterpret_cast<const T*>(file.bytes().data() + spec.offset), static_cast<std::size_t>(rows)};
}

struct Header {
    std::uint64_t rows = 0;
    OptionalColumns optional;
    BarMetadata metadata;
    std::uint64_t end = 0;
};

Header read_header(const std::filesystem::path& path, const MappedFile& file) {
    const std::string_view text = file.text();
    if (!text.starts_with(magic) || text.size() < prologue)
        throw damaged(path, "not a column file");
    std::uint32_t stored_version = 0;
    std::uint32_t length = 0;
    std::memcpy(&stored_version, text.data() + 8, 4);
    std::memcpy(&length, text.data() + 12, 4);
    if (stored_version < oldest_version || stored_version > version)
        throw damaged(path, fmt::format("a column file with the unknown version {}", stored_version));
    if (length > max_header || length > text.size() - prologue)
        throw damaged(path, "the header is truncated");
    Header header;
    header.end = prologue + length;
    try {
        const auto json = nlohmann::json::parse(text.substr(prologue, length));
        header.rows = json.at("rows").get<std::uint64_t>();
        header.optional.vix = json.at("vix").get<bool>();
        header.optional.sides = json.value("sides", false);
        header.metadata.tick.points = json.at("tick").get<double>();
        header.metadata.profile_bin = json.value("profile_bin", 0); // older files have none
        header.metadata.volume_decimals = json.value("volume_decimals", 0);
        header.metadata.bar_seconds = json.at("bar_seconds").get<std::int64_t>();
        header.metadata.dates_only = json.at("dates_only").get<bool>();
        header.metadata.utc_days = json.value("utc_days", false);
        header.metadata.day_end_minute = json.value("day_end_minute", -1);
        header.metadata.named_like_futures = json.value("named_like_futures", false);
        header.metadata.contracts = json.at("contracts").get<std::vector<std::string>>();
    } catch (const nlohmann::json::exception& exception) {
        throw damaged(path, fmt::format("the header cannot be read: {}", exception.what()));
    }
    if (header.rows > text.size() || !(header.metadata.tick.points > 0) || header.metadata.profile_bin < 0 ||
        header.metadata.volume_decimals < 0 || header.metadata.volume_decimals > 9 ||
        header.metadata.contracts.empty())
        throw damaged(path, "the header is inconsistent with itself or the file");
    return header;
}

} // namespace

ColumnFileWriter::ColumnFileWriter(const std::filesystem::path& path, const BarMetadata& metadata,
                                   std::uint64_t rows, OptionalColumns optional)
    : file_(path), rows_(rows), columns_(column_layout(optional)) {
    const std::string header = header_json(metadata, rows, optional).dump();
    file_.write(magic);
    write_number(file_, version);
    write_number(file_, static_cast<std::uint32_t>(header.size()));
    file_.write(header);
    set_offsets(columns_, file_.position(), rows);
    begin_column();
}

void ColumnFileWriter::require_width(std::size_t width) const {
    if (column_ >= columns_.size() || columns_[column_].width != width)
        throw internal_error("a value of the wrong type for the column file");
}

void ColumnFileWriter::begin_column() {
    while (file_.position() < columns_[column_].offset)
        file_.write(std::string_view("\0", 1));
}

void ColumnFileWriter::end_column() {
    row_ = 0;
    if (++column_ < columns_.size())
        begin_column();
}

void ColumnFileWriter::commit() {
    if (rows_ != 0 && column_ != columns_.size())
        throw internal_error("the column file is incomplete");
    file_.commit();
}

void write_column_file(const std::filesystem::path& path, const BarTable& bars) {
    const BarColumns& columns = bars.columns();
    ColumnFileWriter writer(path, bars.metadata(), bars.size(),
                            {.vix = !columns.vix.empty(), .sides = columns.has_sides()});
    const auto put_all = [&](const auto& values) {
        for (const auto value : values)
            writer.put(value);
    };
    put_all(columns.time);
    for (const auto prices : {columns.open, columns.high, columns.low, columns.close})
        put_all(prices);
    put_all(columns.volume);
    put_all(columns.contract);
    put_all(columns.vix);
    put_all(columns.bid_volume);
    put_all(columns.ask_volume);
    writer.commit();
}

BarTable open_column_file(const std::filesystem::path& path) {
    auto file = std::make_shared<MappedFile>(path);
    const Header header = read_header(path, *file);
    std::vector<ColumnSpec> specs = column_layout(header.optional);
    set_offsets(specs, header.end, header.rows);
    if (file->bytes().size() != file_size(specs, header.rows))
        throw damaged(path,
                      fmt::format("the file has {} instead of {}", counted(file->bytes().size(), "byte"),
                                  file_size(specs, header.rows)));
    BarColumns columns;
    columns.time = column<std::int64_t>(*file, specs[0], header.rows);
    columns.open = column<Ticks>(*file, specs[1], header.rows);
    columns.high = column<Ticks>(*file, specs[2], header.rows);
    columns.low = column<Ticks>(*file, specs[3], header.rows);
    columns.close = column<Ticks>(*file, specs[4], header.rows);
    columns.volume = column<std::int64_t>(*file, specs[5], header.rows);
    columns.contract = column<std::uint16_t>(*file, specs[6], header.rows);
    std::size_t next = 7;
    if (header.optional.vix)
        columns.vix = column<float>(*file, specs[next++], header.rows);
    if (header.optional.sides) {
        columns.bid_volume = column<std::int64_t>(*file, specs[next++], header.rows);
        columns.ask_volume = column<std::int64_t>(*file, specs[next], header.rows);
    }
    const std::size_t contracts = header.metadata.contracts.size();
    if (std::any_of(columns.contract.begin(), columns.contract.end(),
                    [&](std::uint16_t contract) { return contract >= contracts; }))
        throw damaged(path, "a bar refers to a contract that the header does not list");
    return BarTable(columns, header.metadata, std::move(file));
}

} // namespace rekindle::market
