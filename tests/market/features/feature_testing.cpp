#include "features/feature_testing.h"

#include <rekindle/base/philox.h>
#include <rekindle/base/text.h>
#include <rekindle/foundation/file.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace rekindle::market::fixtures {

std::filesystem::path golden_folder() {
    return std::filesystem::path(REKINDLE_TEST_DATA) / "features";
}

NumberTable read_numbers(const std::filesystem::path& path) {
    const std::string text = read_file(path);
    NumberTable table;
    for (const std::string_view line : split(text, '\n')) {
        if (line.empty())
            continue;
        const auto cells = split(line, ',');
        if (table.names.empty()) {
            table.names.assign(cells.begin(), cells.end());
            continue;
        }
        std::vector<double> row;
        for (const std::string_view cell : cells)
            row.push_back(std::stod(std::string(cell)));
        if (row.size() != table.names.size())
            throw std::runtime_error("ragged table " + path.string());
        table.rows.push_back(std::move(row));
    }
    return table;
}

std::vector<SessionSummary> golden_summaries(bool mixed) {
    std::vector<SessionSummary> sessions;
    for (const std::vector<double>& row : read_numbers(golden_folder() / "sessions.csv").rows) {
        SessionSummary s;
        std::size_t i = 0;
        const auto whole = [&] { return static_cast<std::int64_t>(row.at(i++)); };
        s.date = static_cast<std::int32_t>(whole());
        s.end_time = whole();
        s.roll_offset = whole();
        s.open = whole();
        s.high = whole();
        s.low = whole();
        s.close = whole();
        s.total_volume = whole();
        s.point_of_control = row.at(i++);
        s.value_area_low = row.at(i++);
        s.value_area_high = row.at(i++);
        s.vwap = row.at(i++);
        s.vix = row.at(i++);
        if (mixed)
            s.roll_offset = 0;
        sessions.push_back(s);
    }
    return sessions;
}

void expect_equals_golden(const FeatureMatrix& matrix, const std::string& file) {
    const auto golden = read_numbers(golden_folder() / file);
    ASSERT_EQ(golden.names.front(), "row");
    ASSERT_EQ(std::vector<std::string>(golden.names.begin() + 1, golden.names.end()), matrix.names);
    ASSERT_EQ(golden.rows.size(), matrix.rows());
    for (std::size_t row = 0; row < matrix.rows(); ++row) {
        ASSERT_EQ(static_cast<std::size_t>(golden.rows[row][0]), matrix.source[row]);
        for (std::size_t column = 0; column < matrix.columns(); ++column) {
            const double expected = golden.rows[row][column + 1];
            // Differences of prices near 5,000 have an error of about 1e-9 points even if the value itself is
            // nearly 0.
            EXPECT_NEAR(matrix.at(row, column), expected, 1e-9 * std::max(std::abs(expected), 1e-3))
                << matrix.names[column] << " of session " << matrix.source[row];
        }
    }
}

BarsAndSessions golden_bars() {
    BarBuffer buffer;
    std::vector<Session> sessions;
    for (const std::vector<double>& row : read_numbers(golden_folder() / "bars.csv").rows) {
        const auto date = static_cast<std::int32_t>(row.at(0));
        const auto offset = static_cast<std::int64_t>(row.at(2));
        const auto contract = static_cast<std::uint16_t>(offset != 0);
        if (sessions.empty() || sessions.back().date != date)
            sessions.push_back(
                {.date = date, .first = buffer.size(), .contract = contract, .roll_offset = offset});
        ++sessions.back().count;
        buffer.time.push_back(static_cast<std::int64_t>(row.at(1)));
        buffer.open.push_back(static_cast<Ticks>(row.at(3)));
        buffer.high.push_back(static_cast<Ticks>(row.at(4)));
        buffer.low.push_back(static_cast<Ticks>(row.at(5)));
        buffer.close.push_back(static_cast<Ticks>(row.at(6)));
        buffer.volume.push_back(static_cast<std::int64_t>(row.at(7)));
        buffer.vix.push_back(static_cast<float>(row.at(8)));
        buffer.contract.push_back(contract);
    }
    return {BarBuffer::into_table(std::move(buffer), {.tick = {0.25}, .contracts = {"H", "M"}}),
            std::move(sessions)};
}

std::vector<SessionSummary> random_summaries(std::size_t count, std::uint64_t seed) {
    PhiloxStream random(seed, RandomPurpose::test, 0, 0);
    const auto between = [&](std::int64_t low, std::int64_t high) {
        return low +
               static_cast<std::int64_t>(random.next_u64() % static_cast<std::uint64_t>(high - low + 1));
    };
    std::vector<SessionSummary> sessions;
    std::int64_t price = 16000;
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < count; ++i) {
        SessionSummary s;
        const std::int64_t gap = i % 61 == 60 ? between(-80, 80) : 0;
        offset += gap;
        s.date = static_cast<std::int32_t>(19000 + i / 5 * 7 + i % 5);
        s.end_time = std::int64_t{s.date} * 86400 + 75600;
        s.roll_offset = offset;
        s.open = price + gap + between(-30, 30);
        s.close = s.open + between(-120, 120);
        s.high = std::max(s.open, s.close) + between(0, 60);
        s.low = std::min(s.open, s.close) - between(0, 60);
        s.total_volume = between(100'000, 2'000'000);
        s.bid_volume = between(0, s.total_volume);
        s.ask_volume = between(0, s.total_volume - s.bid_volume);
        s.point_of_control = static_cast<double>(between(s.low, s.high));
        s.value_area_low = static_cast<double>(between(s.low, static_cast<std::int64_t>(s.point_of_control)));
        s.value_area_high =
            static_cast<double>(between(static_cast<std::int64_t>(s.point_of_control), s.high));
        s.vwap = (s.value_area_low + s.value_area_high) / 2 + 0.37;
        s.vix = 12 + static_cast<double>(between(0, 1500)) / 100;
        price = s.close;
        sessions.push_back(s);
    }
    return sessions;
}

BarsAndSessions random_bars_and_sessions(std::size_t sessions, std::size_t bars_per_session,
                                         std::uint64_t seed, bool with_vix) {
    PhiloxStream random(seed, RandomPurpose::test, 1, 0);
    const auto between = [&](int low, int high) {
        return low + static_cast<int>(random.next_u64() % static_cast<std::uint64_t>(high - low + 1));
    };
    BarBuffer buffer;
    const auto add = [&](std::int64_t time, int open, std::uint16_t contract) {
        const int close = open + between(-6, 6);
        buffer.time.push_back(time);
        buffer.open.push_back(open);
        buffer.close.push_back(close);
        buffer.high.push_back(std::max(open, close) + between(0, 4));
        buffer.low.push_back(std::min(open, close) - between(0, 4));
        buffer.volume.push_back(between(0, 9) == 0 ? 0 : between(1, 3000));
        buffer.contract.push_back(contract);
        if (with_vix)
            buffer.vix.push_back(static_cast<float>(between(1200, 3000)) / 100);
        return close;
    };
    std::vector<Session> list;
    int price = 18000;
    std::int64_t offset = 0;
    for (std::size_t s = 0; s < sessions; ++s) {
        const bool rolls = s == sessions / 2;
        const auto contract = static_cast<std::uint16_t>(s >= sessions / 2);
        const int gap = 45;
        if (rolls) {
            price += gap;
            offset += gap;
        }
        const auto date = static_cast<std::int32_t>(19000 + s / 5 * 7 + s % 5);
        std::int64_t time = std::int64_t{date} * 86400 + 50000;
        add(time, price, contract); // outside of the session
        Session session{.date = date, .first = buffer.size(), .contract = contract, .roll_offset = offset};
        for (std::size_t i = 0; i < bars_per_session; ++i) {
            time += 60;
            // Of overlapping contracts, the lower index comes first.
            if (contract == 1 && i % 7 == 3)
                add(time, price - gap, 0);
            price = add(time, price, contract);
            if (contract == 0 && i % 7 == 3)
                add(time, price + gap, 1);
        }
        session.count = buffer.size() - session.first;
        list.push_back(session);
    }
    return {BarBuffer::into_table(std::move(buffer), {.tick = {0.25}, .contracts = {"H", "M"}}),
            std::move(list)};
}

bool identical(const FeatureMatrix& a, const FeatureMatrix& b) {
    return a.names == b.names && a.known_at == b.known_at && a.dates == b.dates && a.source == b.source &&
           a.values.size() == b.values.size() &&
           std::memcmp(a.values.data(), b.values.data(), a.values.size() * sizeof(double)) == 0;
}

} // namespace rekindle::market::fixtures
