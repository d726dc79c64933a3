#include "random_bars.h"

#include <rekindle/base/text.h>
#include <rekindle/market/profile_output.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace rekindle::market {
namespace {

SessionSummary summary(std::int32_t date, double control, double low, double high, std::int64_t volume) {
    SessionSummary session;
    session.date = date;
    session.point_of_control = control;
    session.value_area_low = low;
    session.value_area_high = high;
    session.total_volume = volume;
    return session;
}

/// The four published rows that the specification quotes, in ticks of 0.25.
ProfileReport published() {
    ProfileReport report;
    report.sessions = {
        summary(18967, 18230, 18122, 18312, 16072), summary(18971, 18765, 18695, 18776, 407205),
        summary(19334, 15893, 15888, 16017, 54663), summary(20146, 23916, 23787, 24029, 900438)};
    report.nodes.resize(4);
    report.first_touches.resize(4);
    return report;
}

TEST(ProfileOutput, CsvIsThePublishedLayoutByteForByte) {
    const ProfileReport report = published();
    EXPECT_EQ(render_profile_csv({&report, 1}),
              "date,vpoc,value_area_low,value_area_high,value_area_width,total_volume\n"
              "2021-12-06,4557.5,4530.5,4578.0,47.5,16072\n"
              "2021-12-10,4691.25,4673.75,4694.0,20.25,407205\n"
              "2022-12-08,3973.25,3972.0,4004.25,32.25,54663\n"
              "2025-02-27,5979.0,5946.75,6007.25,60.5,900438\n");
}

TEST(ProfileOutput, TrendsCsv) {
    ProfileReport report = published();
    report.trends = {{.start = 0, .end = 3, .direction = MigrationDirection::up, .moves = 3},
                     {.start = 1, .end = 2, .direction = MigrationDirection::down, .moves = 1}};
    EXPECT_EQ(render_trends_csv({&report, 1}),
              "start_date,end_date,direction,consecutive_count,vpoc_start,vpoc_end,vpoc_change\n"
              "2021-12-06,2025-02-27,up,3,4557.5,5979.0,1421.5\n"
              "2021-12-10,2022-12-08,down,1,4691.25,3973.25,-718.0\n");
}

TEST(ProfileOutput, SeveralInstrumentsAreNamedInTheFirstColumn) {
    std::vector<ProfileReport> reports{published(), published()};
    reports[0].instrument = "ES";
    reports[1].instrument = "A,B";
    reports[1].metadata.tick = {0.5};
    for (ProfileReport& report : reports) {
        report.sessions.resize(2);
        report.trends = {{.start = 0, .end = 1, .direction = MigrationDirection::up, .moves = 1}};
    }
    EXPECT_EQ(render_profile_csv(reports),
              "instrument,date,vpoc,value_area_low,value_area_high,value_area_width,total_volume\n"
              "ES,2021-12-06,4557.5,4530.5,4578.0,47.5,16072\n"
              "ES,2021-12-10,4691.25,4673.75,4694.0,20.25,407205\n"
              "\"A,B\",2021-12-06,9115.0,9061.0,9156.0,95.0,16072\n"
              "\"A,B\",2021-12-10,9382.5,9347.5,9388.0,40.5,407205\n");
    EXPECT_EQ(render_trends_csv(reports),
              "instrument,start_date,end_date,direction,consecutive_count,vpoc_start,vpoc_end,vpoc_change\n"
              "ES,2021-12-06,2021-12-10,up,1,4557.5,4691.25,133.75\n"
              "\"A,B\",2021-12-06,2021-12-10,up,1,9115.0,9382.5,267.5\n");
    const auto json = nlohmann::json::parse(render_profile_json(reports));
    ASSERT_EQ(json["instruments"].size(), 2u);
    EXPECT_EQ(json["instruments"][1]["instrument"], "A,B");
    EXPECT_EQ(json["instruments"][1]["tick"], 0.5);
    EXPECT_EQ(json["instruments"][0]["sessions"].size(), 2u);
    EXPECT_FALSE(json.contains("sessions"));
}

TEST(ProfileOutput, PricesHaveNoBinaryNoise) {
    EXPECT_EQ(price_text(3723, {0.01}), "37.23");
    EXPECT_EQ(price_text(3720, {0.01}), "37.2");
    EXPECT_EQ(price_text(110237, {0.00001}), "1.10237");
    EXPECT_EQ(price_text(-1, {0.25}), "-0.25");
    EXPECT_EQ(price_text(0, {0.25}), "0.0");
    EXPECT_EQ(price_text(5, {1.0}), "5.0");
    EXPECT_EQ(price_text(7, {0.03125}), "0.21875");
    EXPECT_EQ(price_text(120, {5.0}), "600.0");
    EXPECT_EQ(price_text(3, {1.0 / 3}), "1.0");
    for (Ticks ticks = 90'000; ticks < 90'100; ++ticks)
        EXPECT_LE(price_text(ticks, {0.01}).size(), 6u);
}

TEST(ProfileOutput, JsonContainsEverySession) {
    BarBuffer bars = fixtures::random_bars(3, {.count = 600, .max_levels = 30});
    const BarTable table =
        BarBuffer::into_table(std::move(bars), fixtures::metadata(0.25, {"ES \"03-25\"\n"}));
    const auto sessions = fixtures::random_sessions(3, table.size(), 60, 0);
    ThreadPool pool(2);
    const ProfileReport report = make_profile_report(table, sessions, {}, Clock::utc, {}, pool);
    const std::string text = render_profile_json({&report, 1});
    EXPECT_EQ(text.back(), '\n');
    const auto json = nlohmann::json::parse(text);
    EXPECT_EQ(json["version"], 1);
    ASSERT_EQ(json["sessions"].size(), sessions.size());
    for (std::size_t s = 0; s < sessions.size(); ++s) {
        const auto& session = json["sessions"][s];
        EXPECT_EQ(session["vpoc"], report.sessions[s].point_of_control * 0.25);
        EXPECT_EQ(session["value_area_low"], report.sessions[s].value_area_low * 0.25);
        EXPECT_EQ(session["total_volume"], report.sessions[s].total_volume);
        EXPECT_EQ(session["contract"], "ES \"03-25\"\n");
        EXPECT_EQ(session["high_volume_nodes"].size(), report.nodes[s].high.size());
        EXPECT_EQ(session["vpoc_first_touched"].is_null(), !report.first_touches[s].has_value());
    }
    EXPECT_EQ(json["sessions"][0]["end_time"].get<std::string>().back(), 'Z');
    const ProfileReport labeled = make_profile_report(table, sessions, {}, Clock::raw, {}, pool);
    const auto raw = nlohmann::json::parse(render_profile_json({&labeled, 1}));
    EXPECT_NE(raw["sessions"][0]["end_time"].get<std::string>().back(), 'Z');
    EXPECT_EQ(raw["sessions"][0]["end_time"].get<std::string>().size(), 19u);
}

/// The columns that a line takes on a terminal: none for escape sequences, one per UTF-8 character.
std::size_t width_of(std::string_view line) {
    std::size_t width = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '\033')
            i = line.find('m', i);
        else if ((static_cast<unsigned char>(line[i]) & 0xC0) != 0x80)
            ++width;
    }
    return width;
}

VolumeProfile profile_of_range(Ticks first, Ticks levels) {
    BarBuffer bars =
        fixtures::random_bars(8, {.count = 400, .start = first + levels / 2, .max_volume = 2000});
    for (auto* column : {&bars.open, &bars.high, &bars.low, &bars.close})
        for (Ticks& price : *column)
            price = std::clamp(price, first, first + levels - 1);
    VolumeProfile profile;
    profile.add(bars.columns());
    return profile;
}

ProfileFigures figures_of(const VolumeProfile& profile) {
    const ValueArea area = profile.value_area();
    return {static_cast<double>(profile.point_of_control()), static_cast<double>(area.low),
            static_cast<double>(area.high)};
}

TEST(ProfileDrawing, FitsEveryTerminal) {
    for (const Ticks first : {-40, 23'990})
        for (const Ticks levels : {1, 5, 24, 25, 90})
            for (const std::size_t columns : {0u, 24u, 40u, 59u, 60u, 80u, 200u})
                for (const std::size_t rows : {1u, 5u, 24u, 100u})
                    for (const bool utf8 : {false, true}) {
                        const VolumeProfile profile = profile_of_range(first, levels);
                        const std::string drawing = draw_profile(
                            profile, figures_of(profile),
                            {.columns = columns, .rows = rows, .utf8 = utf8, .color = rows == 5});
                        std::size_t price_rows = 0;
                        bool in_legend = false;
                        for (const std::string_view line : split(drawing, '\n')) {
                            ASSERT_LE(width_of(line), std::max<std::size_t>(columns, 24)) << drawing;
                            in_legend = in_legend || line.starts_with("P = ");
                            price_rows += in_legend ? 0 : 1;
                        }
                        ASSERT_LE(price_rows, rows);
                        ASSERT_EQ(drawing.back(), '\n');
                        if (!utf8) {
                            ASSERT_TRUE(std::all_of(drawing.begin(), drawing.end(), [](char c) {
                                return static_cast<unsigned char>(c) < 128;
                            }));
                        }
                    }
}

TEST(ProfileDrawing, MarksTheFiguresWithLetters) {
    BarBuffer bars;
    const std::vector<std::int64_t> volumes{1, 4, 10, 8, 1};
    for (std::size_t i = 0; i < volumes.size(); ++i) {
        bars.time.push_back(static_cast<std::int64_t>(i));
        for (auto* column : {&bars.open, &bars.high, &bars.low, &bars.close})
            column->push_back(static_cast<Ticks>(400 + i));
        bars.volume.push_back(volumes[i]);
        bars.contract.push_back(0);
    }
    VolumeProfile profile;
    profile.add(bars.columns());
    EXPECT_EQ(draw_profile(profile, {402, 402, 403}, {.columns = 28, .utf8 = false}),
              " 101.0     --\n"
              "100.75 H   ##############\n"
              " 100.5 PL  #################\n"
              "100.25     -------\n"
              " 100.0     --\n"
              "P = point of control 100.5,\n"
              "H = value area high 100.75,\n"
              "L = value area low 100.5\n"
              "# inside the value area, -\n"
              "outside\n"
              "One row is 1 tick (0.25\n"
              "points); total volume 24\n");
    const std::string wide = draw_profile(profile, {402, 402, 403}, {.columns = 60});
    EXPECT_NE(wide.find(" 100.5 PL  10 ██████"), std::string::npos) << wide;
    EXPECT_EQ(wide.find('\033'), std::string::npos);
    EXPECT_NE(draw_profile(profile, {402, 402, 403}, {.color = true}).find("\033[1;33m"), std::string::npos);
    EXPECT_EQ(draw_profile(VolumeProfile{}, {}), "There are no bars to draw.\n");
}

} // namespace
} // namespace rekindle::market
