#include <rekindle/base/text.h>
#include <rekindle/trainer/report.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

namespace rekindle::trainer {

namespace {

constexpr std::size_t max_profile_bars = 60;
constexpr std::size_t max_outcomes = 1500;
constexpr double room_for_label = 0.32;       // right of the longest bar
constexpr double min_bins = 5, max_bins = 40; // of a distribution
constexpr int panel_width = 560, panel_height = 380;

std::vector<double> column(std::span<const EpochMetrics> history, auto&& value) {
    std::vector<double> values;
    for (const EpochMetrics& epoch : history)
        values.push_back(static_cast<double>(value(epoch)));
    return values;
}

std::string title_with_unit(const std::string& name, const std::string& unit) {
    return unit.empty() ? name : fmt::format("{} ({})", name, unit);
}

Axis epoch_axis(std::span<const EpochMetrics> history) {
    Axis axis{.title = "epoch", .integers = true, .padding = 0.02};
    if (history.size() > 1)
        axis.minimum = static_cast<double>(history.front().epoch);
    return axis;
}

/// Both axes have the unit of the target, and a point on the diagonal is an exact prediction.
Chart chart_around_diagonal(const std::string& title, const std::string& x, const std::string& y,
                            const std::string& unit) {
    Chart chart;
    chart.title = title;
    chart.x.title = title_with_unit(x, unit);
    chart.y.title = title_with_unit(y, unit);
    chart.diagonal = true;
    return chart;
}

} // namespace

Chart loss_chart(std::span<const EpochMetrics> history, const std::string& loss_title) {
    const auto epochs = column(history, [](const EpochMetrics& e) { return e.epoch; });
    Chart chart;
    chart.title = "Loss";
    chart.x = epoch_axis(history);
    chart.y.title = loss_title;
    chart.series.push_back({.name = "training",
                            .x = epochs,
                            .y = column(history, [](const EpochMetrics& e) { return e.train_loss; }),
                            .style = 1});
    chart.series.push_back({.name = "validation",
                            .x = epochs,
                            .y = column(history, [](const EpochMetrics& e) { return e.validation_loss; }),
                            .style = 0});
    const auto best = std::ranges::find_if(history.rbegin(), history.rend(), &EpochMetrics::best);
    if (best != history.rend() && std::isfinite(best->validation_loss)) {
        chart.series.push_back({.name = fmt::format("best: epoch {}", best->epoch),
                                .mark = Mark::scatter,
                                .x = {static_cast<double>(best->epoch)},
                                .y = {best->validation_loss},
                                .style = 0});
        chart.description = fmt::format(
            "Training and validation loss over {}; the lowest validation loss is {:.4g}, in epoch {}.",
            counted(static_cast<std::int64_t>(history.size()), "epoch"), best->validation_loss, best->epoch);
    }
    return chart;
}

Chart accuracy_chart(std::span<const EpochMetrics> history) {
    Chart chart;
    chart.title = "Direction predicted correctly";
    chart.x = epoch_axis(history);
    chart.y.title = "share of validation rows (%)";
    chart.series.push_back({.name = "validation",
                            .x = column(history, [](const EpochMetrics& e) { return e.epoch; }),
                            .y = column(history, [](const EpochMetrics& e) { return 100 * e.accuracy; }),
                            .style = 0});
    chart.rules.push_back({.value = 50, .label = "coin flip: 50 %"});
    if (!history.empty() && std::isfinite(history.back().accuracy))
        chart.description = fmt::format(
            "Share of validation rows whose direction is predicted correctly; {:.1f} % in the last epoch.",
            100 * history.back().accuracy);
    return chart;
}

Chart distribution_chart(std::span<const double> values, const std::string& title,
                         const std::string& value_title, Better better, std::string_view noun) {
    Chart chart;
    chart.title = title;
    chart.x.title = value_title;
    chart.y = {.title = std::string(noun) + "s", .include_zero = true, .integers = true};
    chart.legend = false;
    std::vector<double> sorted;
    std::ranges::copy_if(values, std::back_inserter(sorted),
                         [](double value) { return std::isfinite(value); });
    if (sorted.empty())
        return chart;
    std::ranges::sort(sorted);
    const auto quantile = [&](double share) {
        const double place = share * static_cast<double>(sorted.size() - 1);
        const auto low = static_cast<std::size_t>(place);
        const double next = sorted[std::min(low + 1, sorted.size() - 1)];
        return sorted[low] + (place - static_cast<double>(low)) * (next - sorted[low]);
    };
    // Freedman and Diaconis, 1981; a diverged network does not squeeze all others into one bar.
    const double spread = quantile(0.75) - quantile(0.25);
    const double span = sorted.back() - sorted.front();
    const double ideal_width = 2 * spread / std::cbrt(static_cast<double>(sorted.size()));
    const auto bins = static_cast<std::size_t>(
        ideal_width > 0 ? std::clamp(std::ceil(span / ideal_width), min_bins, max_bins) : min_bins);
    const double width = span > 0 ? span / static_cast<double>(bins) : 1;
    Series bars{.mark = Mark::bar, .style = 0, .bar_width = 0.92 * width};
    std::vector<double> counts(bins);
    for (const double value : sorted)
        ++counts[std::min(bins - 1, static_cast<std::size_t>((value - sorted.front()) / width))];
    for (std::size_t bin = 0; bin < bins; ++bin) {
        bars.x.push_back(sorted.front() + (static_cast<double>(bin) + 0.5) * width);
        bars.y.push_back(counts[bin]);
    }
    chart.series.push_back(std::move(bars));
    chart.bands.push_back({quantile(0.25), quantile(0.75), "middle 50 %", false});
    chart.rules.push_back({quantile(0.5), "median", false});
    chart.rules.push_back({better == Better::lower ? sorted.front() : sorted.back(), "best", false});
    chart.description = fmt::format("{}: lowest {:.4g}, quartiles {:.4g}, {:.4g} and {:.4g}, highest {:.4g}.",
                                    counted(static_cast<std::int64_t>(sorted.size()), noun), sorted.front(),
                                    quantile(0.25), quantile(0.5), quantile(0.75), sorted.back());
    return chart;
}

Chart profile_chart(const ReportProfile& profile) {
    Chart chart;
    chart.title = profile.label;
    chart.description =
        fmt::format("Volume by price. Point of control {:g}, value area {:g} to {:g}, close {:g} points.",
                    profile.point_of_control, profile.value_area_low, profile.value_area_high, profile.close);
    chart.x = {.title = "volume", .include_zero = true, .padding = room_for_label};
    chart.y = {.title = "price (points)", .padding = 0.01};
    chart.legend = false;
    const std::size_t levels = std::min(profile.prices.size(), profile.volumes.size());
    const std::size_t group = std::max<std::size_t>(1, (levels + max_profile_bars - 1) / max_profile_bars);
    const double tick = levels > 1 ? profile.prices[1] - profile.prices[0] : 1;
    Series inside{.name = "value area", .mark = Mark::horizontal_bar, .style = 0};
    Series outside{.name = "outside", .mark = Mark::horizontal_bar, .style = 0, .strong = false};
    inside.bar_width = outside.bar_width = tick * static_cast<double>(group) * 0.85;
    for (std::size_t begin = 0; begin < levels; begin += group) {
        const std::size_t end = std::min(begin + group, levels);
        double volume = 0;
        for (std::size_t i = begin; i < end; ++i)
            volume += profile.volumes[i];
        const double price = (profile.prices[begin] + profile.prices[end - 1]) / 2;
        Series& target =
            price >= profile.value_area_low && price <= profile.value_area_high ? inside : outside;
        target.x.push_back(volume);
        target.y.push_back(price);
    }
    chart.series = {outside, inside};
    chart.rules.push_back(
        {.value = profile.point_of_control, .label = fmt::format("POC {:g}", profile.point_of_control)});
    return chart;
}

Chart outcome_chart(const ReportData& data) {
    Chart chart = chart_around_diagonal("Prediction and outcome", "predicted", "actual", data.target_unit);
    const std::size_t rows = std::min(data.predicted.size(), data.actual.size());
    const std::size_t stride = std::max<std::size_t>(1, (rows + max_outcomes - 1) / max_outcomes);
    Series points{.name = stride == 1
                              ? counted(static_cast<std::int64_t>(rows), data.row_noun)
                              : fmt::format("every {} of {}", ordinal(static_cast<std::int64_t>(stride)),
                                            counted(static_cast<std::int64_t>(rows), data.row_noun)),
                  .mark = Mark::scatter,
                  .style = 0,
                  .strong = false};
    for (std::size_t i = 0; i < rows; i += stride) {
        points.x.push_back(data.predicted[i]);
        points.y.push_back(data.actual[i]);
    }
    chart.series.push_back(std::move(points));
    chart.description = fmt::format(
        "Each point is one {}; on the dashed line prediction and outcome are equal.", data.row_noun);
    return chart;
}

Chart calibration_chart(const ReportData& data) {
    Chart chart = chart_around_diagonal("Calibration", "mean prediction per group", "mean outcome per group",
                                        data.target_unit);
    Series groups{
        .name = fmt::format("{} of equal size",
                            counted(static_cast<std::int64_t>(data.evaluation.calibration.size()), "group")),
        .mark = Mark::scatter,
        .style = 1};
    for (const CalibrationBin& bin : data.evaluation.calibration) {
        groups.x.push_back(data.calibration_scale * bin.predicted);
        groups.y.push_back(data.calibration_scale * bin.actual);
    }
    chart.series.push_back(std::move(groups));
    chart.description = "A calibrated model's groups lie on the dashed line.";
    return chart;
}

void write_training_history(const std::filesystem::path& path, std::span<const EpochMetrics> history,
                            const std::string& loss_title) {
    const std::array<Chart, 2> panels{loss_chart(history, loss_title), accuracy_chart(history)};
    write_png(path, panels, panel_width, panel_height);
}

} // namespace rekindle::trainer
