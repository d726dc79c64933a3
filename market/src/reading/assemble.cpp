#include "reading/assemble.h"

#include "column_file_writer.h"

#include <rekindle/market/column_file.h>

#include <utility>

namespace rekindle::market::reading {

namespace {

std::size_t final_rows(const Assembly& assembly) {
    return assembly.order.empty() ? assembly.rows.bars.size() : assembly.order.size();
}

/// Calls put(value) for each row's value in the final order.
template <class T, class Put>
void for_each_value(const Assembly& assembly, std::span<const T> column, const Put& put) {
    if (assembly.order.empty())
        for (const T value : column)
            put(value);
    else
        for (const std::uint64_t row : assembly.order)
            put(column[row]);
}

template <class T>
void reorder(std::vector<T>& column, std::span<const std::uint64_t> order) {
    std::vector<T> values;
    values.reserve(order.size());
    for (const std::uint64_t row : order)
        values.push_back(column[row]);
    column = std::move(values);
}

/// The VIX known at the start of the bar with this (final) time.
float vix_at(PublishedSeries& series, const BarMetadata& metadata, std::int64_t time) {
    return series.known_at(metadata.dates_only ? time : time - metadata.bar_seconds);
}

} // namespace

BarTable assemble_in_memory(const Assembly& assembly, BarBuffer bars) {
    if (!assembly.order.empty()) {
        reorder(bars.time, assembly.order);
        for (auto* prices : {&bars.open, &bars.high, &bars.low, &bars.close})
            reorder(*prices, assembly.order);
        reorder(bars.volume, assembly.order);
        reorder(bars.contract, assembly.order);
        if (!bars.bid_volume.empty()) {
            reorder(bars.bid_volume, assembly.order);
            reorder(bars.ask_volume, assembly.order);
        }
    }
    if (assembly.time_shift != 0)
        for (std::int64_t& time : bars.time)
            time += assembly.time_shift;
    for (std::uint16_t& contract : bars.contract)
        contract = assembly.rank[contract];
    if (assembly.vix) {
        PublishedSeries series = *assembly.vix;
        bars.vix.reserve(bars.size());
        for (const std::int64_t time : bars.time)
            bars.vix.push_back(vix_at(series, assembly.metadata, time));
    }
    return BarBuffer::into_table(std::move(bars), assembly.metadata);
}

BarTable assemble_column_file(const Assembly& assembly, const std::filesystem::path& path) {
    const BarColumns& rows = assembly.rows.bars;
    ColumnFileWriter writer(path, assembly.metadata, final_rows(assembly),
                            {.vix = assembly.vix != nullptr, .sides = rows.has_sides()});
    for_each_value(assembly, rows.time, [&](std::int64_t time) { writer.put(time + assembly.time_shift); });
    for (const auto prices : {rows.open, rows.high, rows.low, rows.close})
        for_each_value(assembly, prices, [&](Ticks price) { writer.put(price); });
    for_each_value(assembly, rows.volume, [&](std::int64_t volume) { writer.put(volume); });
    for_each_value(assembly, rows.contract,
                   [&](std::uint16_t contract) { writer.put(assembly.rank[contract]); });
    if (assembly.vix) {
        PublishedSeries series = *assembly.vix;
        for_each_value(assembly, rows.time, [&](std::int64_t time) {
            writer.put(vix_at(series, assembly.metadata, time + assembly.time_shift));
        });
    }
    for (const auto volumes : {rows.bid_volume, rows.ask_volume})
        if (rows.has_sides())
            for_each_value(assembly, volumes, [&](std::int64_t volume) { writer.put(volume); });
    writer.commit();
    return open_column_file(path);
}

} // namespace rekindle::market::reading
