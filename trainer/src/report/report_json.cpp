/// Writes and reads report.json. Each type has one list of fields, which both directions use.

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/trainer/report.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>
#include <utility>

namespace rekindle::trainer {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view format_name = "rekindle-report/1";
constexpr int style_count = 6; ///< of Series::style

template <class Each>
void fields(Interval& v, Each& each) {
    each("low", v.low);
    each("high", v.high);
}

template <class Each>
void fields(Score& v, Each& each) {
    each("name", v.name);
    each("unit", v.unit);
    each("value", v.value);
    each("interval", v.interval);
    each("baseline", v.baseline);
    each("baseline_name", v.baseline_name);
    each("higher_is_better", v.higher_is_better);
    each("without_interval", v.without_interval);
}

template <class Each>
void fields(Verdict& v, Each& each) {
    each("label", v.label);
    each("finding", v.finding);
    each("details", v.details);
    each("undecided", v.undecided);
}

template <class Each>
void fields(CalibrationBin& v, Each& each) {
    each("predicted", v.predicted);
    each("actual", v.actual);
    each("rows", v.rows);
}

template <class Each>
void fields(Evaluation& v, Each& each) {
    each("rows", v.rows);
    each("has_edge", v.has_edge);
    each("verdict", v.verdict);
    each("scores", v.scores);
    each("calibration", v.calibration);
    each("residual_quantiles", v.residual_quantiles);
    each("interval_level", v.interval_level);
}

template <class Each>
void fields(EpochMetrics& v, Each& each) {
    each("epoch", v.epoch);
    each("epochs", v.epochs);
    each("train_loss", v.train_loss);
    each("validation_loss", v.validation_loss);
    each("accuracy", v.accuracy);
    each("learning_rate", v.learning_rate);
    each("gradient_norm", v.gradient_norm);
    each("steps", v.steps);
    each("seconds", v.seconds);
    each("rows_per_second", v.rows_per_second);
    each("best", v.best);
    each("networks", v.networks);
    each("lowest_validation_loss", v.lowest_validation_loss);
}

template <class Each>
void fields(StageTime& v, Each& each) {
    each("stage", v.stage);
    each("seconds", v.seconds);
    each("summary", v.summary);
}

template <class Each>
void fields(Series& v, Each& each) {
    each("name", v.name);
    each("mark", v.mark);
    each("x", v.x);
    each("y", v.y);
    each("style", v.style);
    each("bar_width", v.bar_width);
    each("strong", v.strong);
}

template <class Each>
void fields(Rule& v, Each& each) {
    each("value", v.value);
    each("label", v.label);
    each("horizontal", v.horizontal);
}

template <class Each>
void fields(Band& v, Each& each) {
    each("low", v.low);
    each("high", v.high);
    each("label", v.label);
    each("horizontal", v.horizontal);
}

template <class Each>
void fields(Axis& v, Each& each) {
    each("title", v.title);
    each("minimum", v.minimum);
    each("maximum", v.maximum);
    each("include_zero", v.include_zero);
    each("integers", v.integers);
    each("padding", v.padding);
}

template <class Each>
void fields(Chart& v, Each& each) {
    each("title", v.title);
    each("description", v.description);
    each("x", v.x);
    each("y", v.y);
    each("series", v.series);
    each("rules", v.rules);
    each("bands", v.bands);
    each("diagonal", v.diagonal);
    each("legend", v.legend);
}

template <class Each>
void fields(ReportTable& v, Each& each) {
    each("title", v.title);
    each("columns", v.columns);
    each("rows", v.rows);
    each("caption", v.caption);
}

template <class Each>
void fields(ReportSection& v, Each& each) {
    each("title", v.title);
    each("charts", v.charts);
    each("sentences", v.sentences);
    each("tables", v.tables);
}

template <class Each>
void fields(ReportProfile& v, Each& each) {
    each("label", v.label);
    each("prices", v.prices);
    each("volumes", v.volumes);
    each("point_of_control", v.point_of_control);
    each("value_area_low", v.value_area_low);
    each("value_area_high", v.value_area_high);
    each("close", v.close);
}

template <class Each>
void fields(ReportInput& v, Each& each) {
    each("instrument", v.instrument);
    each("files", v.files);
    each("hash", v.hash);
}

template <class Each>
void fields(FinalPart& v, Each& each) {
    each("rows", v.rows);
    each("evaluation", v.evaluation);
    each("opened_before", v.opened_before);
}

template <class Each>
void fields(ReportData& v, Each& each) {
    each("kind", v.kind);
    each("title", v.title);
    each("run", v.run);
    each("finished", v.finished);
    each("program", v.program);
    each("synthetic", v.synthetic);
    each("inputs", v.inputs);
    each("judged", v.judged);
    each("row_noun", v.row_noun);
    each("evidence", v.evidence);
    each("evaluation", v.evaluation);
    each("final_part", v.final_part);
    each("target", v.target);
    each("target_unit", v.target_unit);
    each("loss_name", v.loss_name);
    each("loss_unit", v.loss_unit);
    each("scores_note", v.scores_note);
    each("calibration_scale", v.calibration_scale);
    each("history", v.history);
    each("sections", v.sections);
    each("profiles", v.profiles);
    each("predicted", v.predicted);
    each("actual", v.actual);
    each("data", v.data);
    each("tables", v.tables);
    each("configuration", v.configuration);
    each("timings", v.timings);
    each("warnings", v.warnings);
    each("notes", v.notes);
}

constexpr std::array kind_names{"training", "walk-forward", "search", "backtest"};
constexpr std::array evidence_names{"single split", "cross-validation", "out of sample"};
constexpr std::array mark_names{"line", "step", "scatter", "bar", "horizontal bar"};

/// The words for the values of an enum, in the order of the values.
constexpr const auto& words_of(ReportKind) {
    return kind_names;
}
constexpr const auto& words_of(Evidence) {
    return evidence_names;
}
constexpr const auto& words_of(Mark) {
    return mark_names;
}

template <class T>
concept Enumeration = std::is_enum_v<T>;

struct Writer {
    Json object = Json::object();

    template <class T>
    void operator()(const char* key, T& value) {
        object[key] = json_of(value);
    }

    static Json json_of(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
    static Json json_of(std::string& text) { return text; }
    template <std::integral T>
    static Json json_of(T value) {
        return value;
    }
    template <Enumeration T>
    static Json json_of(T value) {
        return words_of(value).at(static_cast<std::size_t>(value));
    }
    template <class T>
    static Json json_of(std::optional<T>& value) {
        return value ? json_of(*value) : Json(nullptr);
    }
    static Json json_of(ReportFact& fact) { return Json::array({fact.first, fact.second}); }
    template <class T>
    static Json json_of(std::vector<T>& values) {
        Json list = Json::array();
        for (auto& value : values)
            list.push_back(json_of(value));
        return list;
    }
    template <class T>
        requires std::is_class_v<T>
    static Json json_of(T& value) {
        Writer writer;
        fields(value, writer);
        return std::move(writer.object);
    }
};

struct Reader {
    const Json& object;

    template <class T>
    void operator()(const char* key, T& value) {
        try {
            read(object.at(key), value);
        } catch (const nlohmann::json::exception&) {
            throw usage_error(fmt::format("\"{}\" is missing or has another type", key));
        }
    }

    static void read(const Json& json, double& value) {
        value = json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
    }
    static void read(const Json& json, std::string& text) { text = json.get<std::string>(); }
    static void read(const Json& json, bool& value) { value = json.get<bool>(); }
    template <std::integral T>
    static void read(const Json& json, T& value) {
        const bool whole = json.is_number_unsigned()
                               ? std::in_range<T>(json.get<std::uint64_t>())
                               : json.is_number_integer() && std::in_range<T>(json.get<std::int64_t>());
        if (!whole)
            throw usage_error(fmt::format("{} is not a whole number in the range of this figure",
                                          json.dump(-1, ' ', true, Json::error_handler_t::replace)));
        value = json.get<T>();
    }
    template <Enumeration T>
    static void read(const Json& json, T& value) {
        const auto word = json.get<std::string>();
        const auto& words = words_of(value);
        const auto found = std::ranges::find(words, word);
        if (found == words.end())
            throw usage_error(fmt::format("\"{}\" is not one of {}", word, fmt::join(words, ", ")));
        value = static_cast<T>(found - words.begin());
    }
    template <class T>
    static void read(const Json& json, std::optional<T>& value) {
        value.reset();
        if (!json.is_null())
            read(json, value.emplace());
    }
    static void read(const Json& json, ReportFact& fact) {
        read(json.at(0), fact.first);
        read(json.at(1), fact.second);
    }
    template <class T>
    static void read(const Json& json, std::vector<T>& values) {
        if (!json.is_array())
            throw usage_error("a list is expected");
        values.clear();
        for (const Json& element : json)
            read(element, values.emplace_back());
    }
    template <class T>
        requires std::is_class_v<T>
    static void read(const Json& json, T& value) {
        Reader reader{json};
        fields(value, reader);
    }
};

void check(const Chart& chart) {
    for (const Series& series : chart.series)
        if (series.x.size() != series.y.size() || series.style < 0 || series.style >= style_count)
            throw usage_error(fmt::format("a series of the chart \"{}\" has {} and {}, and the style {}",
                                          chart.title, counted(series.x.size(), "value of x", "values of x"),
                                          counted(series.y.size(), "value of y", "values of y"),
                                          series.style))
                .expected("as many values of x as of y, and a style from 0 to 5");
}

void check(const ReportTable& table) {
    for (const auto& row : table.rows)
        if (row.size() != table.columns.size())
            throw usage_error(
                fmt::format("a row of the table \"{}\" has {}", table.title, counted(row.size(), "cell")))
                .expected(fmt::format("{}, one for each column", table.columns.size()));
}

/// Throws Error (usage) if the report breaks an assumption of the code that writes the page.
void check(const ReportData& data) {
    for (const ReportSection& section : data.sections) {
        for (const Chart& chart : section.charts)
            check(chart);
        for (const ReportTable& table : section.tables)
            check(table);
    }
    for (const ReportTable& table : data.tables)
        check(table);
    for (const ReportProfile& profile : data.profiles)
        if (profile.prices.empty() || profile.prices.size() != profile.volumes.size())
            throw usage_error(fmt::format("the profile \"{}\" has {} and {}", profile.label,
                                          counted(profile.prices.size(), "price"),
                                          counted(profile.volumes.size(), "volume")))
                .expected("as many prices as volumes, at least one");
    if (data.predicted.size() != data.actual.size())
        throw usage_error(fmt::format("the report has {} and {}",
                                      counted(data.predicted.size(), "prediction"),
                                      counted(data.actual.size(), "outcome")))
            .expected("as many predictions as outcomes");
}

} // namespace

std::string_view name_of(ReportKind kind) noexcept {
    return kind_names[static_cast<std::size_t>(kind)];
}

std::string_view command_of(ReportKind kind) noexcept {
    return kind == ReportKind::training ? "train" : name_of(kind);
}

std::string report_json(const ReportData& data) {
    Json json{{"format", format_name}};
    ReportData copy = data; // fields() takes a non-const reference, because it also reads
    json.update(Writer::json_of(copy));
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

ReportData parse_report_json(std::string_view text) {
    const Json json = Json::parse(text, nullptr, false);
    if (!json.is_object() || !json.contains("format"))
        throw usage_error("this is not a report").expected("JSON with \"format\": \"rekindle-report/1\"");
    if (json.at("format") != format_name)
        throw usage_error("this report has another format: " +
                          json.at("format").dump(-1, ' ', true, Json::error_handler_t::replace))
            .expected(std::string(format_name));
    ReportData data;
    Reader::read(json, data);
    check(data);
    return data;
}

} // namespace rekindle::trainer
