#include "../formats/archive_fixture.h"
#include "example_report.h"

#include <rekindle/foundation/file.h>
#include <rekindle/trainer/chart.h>
#include <rekindle/trainer/report.h>

#include <gmock/gmock.h>

#include <png.h>
#include <regex>
#include <set>

namespace rekindle::trainer {
namespace {

using test::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Chart two_points(Mark mark = Mark::line) {
    Chart chart;
    chart.title = "T";
    chart.x = {.title = "x", .minimum = 0, .maximum = 10};
    chart.y = {.title = "y (kg)", .minimum = 0, .maximum = 100};
    chart.series.push_back({.name = "one", .mark = mark, .x = {0, 10}, .y = {0, 100}, .style = 1});
    return chart;
}

/// Every match of the first group. Only for short matches, because std::regex needs stack for each repeated
/// character.
std::vector<std::string> all(const std::string& text, const std::string& pattern) {
    const std::regex expression(pattern);
    std::vector<std::string> found;
    for (std::sregex_iterator it(text.begin(), text.end(), expression), end; it != end; ++it)
        found.push_back((*it)[1]);
    return found;
}

/// The text between each occurrence of `begin` and the next quotation mark.
std::vector<std::string> quoted_after(const std::string& text, const std::string& begin) {
    std::vector<std::string> found;
    for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
        at += begin.size();
        found.push_back(text.substr(at, text.find('"', at) - at));
    }
    return found;
}

TEST(Ticks, AreRoundAndInside) {
    EXPECT_THAT(tick_values(0, 10, 5), ElementsAre(0, 2, 4, 6, 8, 10));
    EXPECT_THAT(tick_values(0.3, 2.2, 3, true), ElementsAre(1, 2));
    EXPECT_EQ(tick_values(5, 5, 4).size(), 1U);
    for (std::uint64_t i = 0; i < 500; ++i) {
        PhiloxStream random(3, RandomPurpose::test, 0, i);
        const double low = (random.next_double() - 0.5) * std::pow(10, random.next_below(12));
        const double high = low + random.next_double() * std::pow(10, random.next_below(12)) / 1000;
        const auto ticks = tick_values(low, high, 6);
        const double slack = (high - low) * 1e-6;
        ASSERT_LE(ticks.size(), 14U);
        for (const double tick : ticks) {
            EXPECT_GE(tick, low - slack);
            EXPECT_LE(tick, high + slack);
        }
    }
}

TEST(Ticks, LabelsDistinguishNeighbors) {
    EXPECT_EQ(tick_label(1'500'000, 500'000), "1.5 M");
    EXPECT_EQ(tick_label(2'000'000, 1'000'000), "2 M");
    EXPECT_EQ(tick_label(40'000, 20'000), "40 k");
    EXPECT_EQ(tick_label(18'250, 50), "18250");
    EXPECT_EQ(tick_label(0.25, 0.05), "0.25");
    EXPECT_EQ(tick_label(-0.5, 0.5), "-0.5");
    EXPECT_EQ(tick_label(1e-17, 0.2), "0");
    for (std::uint64_t i = 0; i < 500; ++i) {
        PhiloxStream random(4, RandomPurpose::test, 0, i);
        const double low = (random.next_double() - 0.5) * std::pow(10, random.next_below(10)) / 1000;
        const auto ticks = tick_values(low, low * 1.2 + std::pow(10, random.next_below(9)) / 1000, 6);
        std::set<std::string> labels;
        for (const double tick : ticks)
            labels.insert(tick_label(tick, ticks.size() > 1 ? ticks[1] - ticks[0] : 0));
        EXPECT_EQ(labels.size(), ticks.size()) << ticks.front() << " " << ticks.back();
    }
}

TEST(Svg, DrawsALineFromCornerToCorner) {
    const std::string svg = render_svg(two_points(), 400, 300);
    const auto paths = all(svg, R"(class="l c-s1 w2"[^>]* d="([^"]*)\")");
    ASSERT_EQ(paths.size(), 2U) << "the legend's sample and the line itself";
    const std::regex line(R"(M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+))");
    std::smatch match;
    ASSERT_TRUE(std::regex_match(paths[1], match, line)) << paths[1];
    EXPECT_LT(std::stod(match[1]), std::stod(match[3]));
    EXPECT_GT(std::stod(match[2]), std::stod(match[4])) << "values grow upwards";
    EXPECT_THAT(svg, HasSubstr("stroke-dasharray=\"7 4\"")) << "styles differ by more than color";
    EXPECT_THAT(svg, HasSubstr("y (kg)"));
    EXPECT_THAT(svg, HasSubstr("role=\"img\""));
}

TEST(Svg, EscapesAndOmits) {
    Chart chart = two_points();
    chart.title = "<script>alert('1')</script> & \"x\"";
    chart.series[0].name = "a<b";
    const std::string svg = render_svg(chart, 400, 300);
    EXPECT_THAT(svg, Not(HasSubstr("<script")));
    EXPECT_THAT(svg, HasSubstr("&lt;script&gt;alert(&#39;1&#39;)"));
    EXPECT_THAT(svg, HasSubstr("a&lt;b"));
    chart.series[0].y = {NAN, INFINITY};
    EXPECT_THAT(render_svg(chart, 400, 300), Not(HasSubstr("nan")));
}

TEST(Svg, BreaksLinesAtGaps) {
    Chart chart = two_points();
    chart.series[0].name.clear();
    chart.series[0].x = {0, 1, 2, 3, 4};
    chart.series[0].y = {1, 2, NAN, 3, 4};
    EXPECT_EQ(all(render_svg(chart, 400, 300), R"(class="l (c-s1) w2")").size(), 2U);
}

/// The label's vertical position for a rule at 0 if the series has this value at the right edge.
double label_of_zero(double series_at_right) {
    Chart chart = two_points();
    chart.y = {.minimum = -1, .maximum = 1};
    chart.series[0].x = {0, 5, 10};
    chart.series[0].y = {0.9, series_at_right, series_at_right};
    chart.rules.push_back({.value = 0, .label = "training mean"});
    const auto at = all(render_svg(chart, 400, 300), R"x(y="([\d.]+)"[^>]*>training mean<)x");
    EXPECT_EQ(at.size(), 1U);
    return at.empty() ? 0 : std::stod(at[0]);
}

TEST(Svg, LabelsOfRulesAvoidTheSeries) {
    const double usual = label_of_zero(-0.9);
    EXPECT_EQ(label_of_zero(0.9), usual) << "above the rule, where nothing else is";
    EXPECT_GT(label_of_zero(0.06), usual + 10) << "below it, because the line passes above";
}

TEST(Svg, StepsHoldTheirValue) {
    Chart chart = two_points(Mark::step);
    const auto paths = all(render_svg(chart, 400, 300), R"(class="l c-s1 w2"[^>]* d="([^"]*)\")");
    EXPECT_EQ(std::ranges::count(paths.back(), 'L'), 2) << "a corner between the two points";
}

TEST(Svg, HorizontalBarsGrowFromZero) {
    Chart chart;
    chart.x = {.include_zero = true, .padding = 0};
    chart.series.push_back(
        {.name = "", .mark = Mark::horizontal_bar, .x = {10, 5}, .y = {1, 2}, .bar_width = 1});
    const std::string svg = render_svg(chart, 300, 200);
    const auto lefts = all(svg, R"(class="f c-s0" x="([\d.]+)\")"),
               widths = all(svg, R"(c-s0"[^>]* width="([\d.]+)\")");
    ASSERT_EQ(lefts.size(), 2U);
    EXPECT_EQ(lefts[0], lefts[1]);
    EXPECT_NEAR(std::stod(widths[0]), 2 * std::stod(widths[1]), 0.02);
}

TEST(Svg, ManyPointsStaySmallAndKeepTheirExtremes) {
    Chart chart;
    chart.series.push_back({.name = ""});
    for (int i = 0; i < 100'000; ++i) {
        chart.series[0].x.push_back(i);
        chart.series[0].y.push_back(i == 54'321 ? 50.0 : std::sin(i * 0.01));
    }
    chart.y = {.minimum = 0, .maximum = 50};
    const std::string svg = render_svg(chart, 500, 300);
    EXPECT_LT(svg.size(), 40'000U);
    const auto paths = quoted_after(svg, R"(c-s0 w2" d=")");
    const auto heights = all(paths.at(0), R"([ML][\d.]+ ([\d.]+))");
    double highest = 1e9;
    for (const std::string& height : heights)
        highest = std::min(highest, std::stod(height));
    EXPECT_LT(highest, 30) << "the single peak is still there";
}

/// Reads a PNG with libpng's simple interface.
struct Picture {
    explicit Picture(const std::filesystem::path& path) {
        png_image image{};
        image.version = PNG_IMAGE_VERSION;
        EXPECT_TRUE(png_image_begin_read_from_file(&image, path.c_str()));
        image.format = PNG_FORMAT_RGB;
        width = image.width;
        height = image.height;
        pixels.resize(PNG_IMAGE_SIZE(image));
        EXPECT_TRUE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr));
    }
    std::size_t count(unsigned char r, unsigned char g, unsigned char b) const {
        std::size_t found = 0;
        for (std::size_t i = 0; i + 2 < pixels.size(); i += 3)
            found += pixels[i] == r && pixels[i + 1] == g && pixels[i + 2] == b;
        return found;
    }
    std::size_t width = 0, height = 0;
    std::vector<unsigned char> pixels;
};

TEST(Png, TrainingHistoryHasTwoPanelsWithBothSeries) {
    const TemporaryFolder folder;
    const ReportData data = fixtures::example_report();
    write_training_history(folder / "training_history.png", data.history, "Huber loss");
    const Picture picture(folder / "training_history.png");
    EXPECT_EQ(picture.width, 1120U);
    EXPECT_EQ(picture.height, 380U);
    EXPECT_GT(picture.count(255, 255, 255), picture.width * picture.height * 3 / 4) << "light background";
    EXPECT_GT(picture.count(0, 114, 178), 300U) << "validation, in both panels";
    EXPECT_GT(picture.count(213, 94, 0), 100U) << "training";
    EXPECT_GT(picture.count(28, 32, 38), 200U) << "text";
}

TEST(Png, EmptyHistoryIsStillAPicture) {
    const TemporaryFolder folder;
    write_training_history(folder / "empty.png", {});
    EXPECT_EQ(Picture(folder / "empty.png").height, 380U);
}

TEST(Distributions, BestValueIsMarked) {
    const std::vector<double> values{3, 1, 2, 5, 4};
    for (const auto& [better, best] : {std::pair{Better::lower, 1.0}, std::pair{Better::higher, 5.0}}) {
        const Chart chart = distribution_chart(values, "T", "x", better);
        const auto mark = std::ranges::find(chart.rules, "best", &Rule::label);
        ASSERT_NE(mark, chart.rules.end());
        EXPECT_EQ(mark->value, best);
    }
}

} // namespace
} // namespace rekindle::trainer
