#include <rekindle/base/philox.h>
#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/research/search_space.h>
#include <rekindle/trainer/settings.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>

namespace rekindle::research {

namespace {

using Json = nlohmann::ordered_json;
using trainer::Setting;
using trainer::ValueKind;

/// Model settings that a search cannot vary, because they choose the rows to judge on or what to compare.
constexpr std::array not_searched{"train_split", "purge", "embargo", "seed", "population", "compat"};
/// The groups of settings that determine the rows, and those that determine the networks.
constexpr std::array row_groups{"Features", "Target and split"};
constexpr std::array network_groups{"Network", "Optimization"};

template <class List>
bool holds(const List& list, std::string_view word) {
    return std::ranges::find(list, word) != list.end();
}

bool is_searched(const Setting& setting) {
    return setting.part == trainer::SettingPart::model && holds(setting.commands, "search") &&
           (holds(row_groups, setting.group) || holds(network_groups, setting.group)) &&
           !holds(not_searched, setting.key());
}

const Setting* searched_setting(const std::string& key) {
    for (const Setting& setting : trainer::settings())
        if (setting.key() == key && is_searched(setting))
            return &setting;
    return nullptr;
}

std::string key_from(std::string_view name) {
    std::string key(trim(name));
    key.erase(0, std::min(key.find_first_not_of('-'), key.size()));
    std::ranges::replace(key, '-', '_');
    return key;
}

std::optional<double> number_of(std::string_view text) {
    text = trim(text);
    double value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    return code == std::errc() && end == text.data() + text.size() && std::isfinite(value)
               ? std::optional(value)
               : std::nullopt;
}

Error wrong_values(std::string_view text, std::string_view what) {
    return usage_error(fmt::format("{}: {}", text, what))
        .at("--vary")
        .expected("NAME=VALUE|VALUE|… or NAME=LOW..HIGH, such as learning-rate=1e-4..1e-2@log");
}

std::string word_of(const Setting& setting, std::string_view text, std::string_view whole) {
    const auto words = setting.words();
    if (!holds(words, text)) {
        const std::string_view near = nearest_word(text, words);
        throw wrong_values(whole, fmt::format("\"{}\" is not one of {}", text, fmt::join(words, ", ")))
            .hint(near.empty() ? "" : fmt::format("Did you mean {}?", near));
    }
    return std::string(text);
}

/// Converts a value to the type of the setting. update_from_json() later rejects values out of range.
Json value_of(const Setting* setting, std::string_view text, std::string_view whole) {
    const ValueKind kind = setting != nullptr ? setting->kind() : ValueKind::integer;
    const auto number = number_of(text);
    switch (kind) {
    case ValueKind::integer:
    case ValueKind::number:
        if (!number)
            throw wrong_values(whole, fmt::format("\"{}\" is not a number", text));
        if (kind == ValueKind::integer && *number == std::floor(*number))
            return static_cast<std::int64_t>(*number);
        return *number;
    case ValueKind::flag:
        if (text != "true" && text != "false")
            throw wrong_values(whole, fmt::format("\"{}\" is neither true nor false", text));
        return text == "true";
    case ValueKind::integer_list:
    case ValueKind::word_list: {
        Json list = Json::array();
        for (const std::string_view part : split(text, ','))
            if (kind == ValueKind::word_list)
                list.push_back(word_of(*setting, trim(part), whole));
            else if (const auto width = number_of(part); width && *width == std::floor(*width))
                list.push_back(static_cast<std::int64_t>(*width));
            else
                throw wrong_values(whole, fmt::format("\"{}\" is not a whole number", part));
        return list;
    }
    default:
        return std::string(text);
    }
}

void check_value(const Dimension& dimension, const Json& value) {
    if (dimension.key == train_rows_key) {
        if (value.get<double>() < 1)
            throw usage_error(fmt::format("train-rows cannot be {}", value.dump()))
                .at("--vary")
                .expected("a number of rows, 1 or more");
        return;
    }
    Json one = Json::object();
    one[dimension.key] = value;
    trainer::TrainConfig config;
    try {
        trainer::update_from_json(one, config);
    } catch (Error& error) {
        throw error.at("--vary " + dimension.key);
    }
}

/// Parses LOW..HIGH with an optional /POINTS and @log.
void parse_interval(Dimension& dimension, const Setting* setting, std::string_view values,
                    std::string_view whole) {
    const auto wrong = [&](std::string_view what) { return wrong_values(whole, what); };
    if (const auto at = values.find('@'); at != std::string_view::npos) {
        if (trim(values.substr(at + 1)) != "log")
            throw wrong("the only scale is @log");
        dimension.logarithmic = true;
        values = values.substr(0, at);
    }
    if (const auto slash = values.find('/'); slash != std::string_view::npos) {
        const auto points = number_of(values.substr(slash + 1));
        constexpr double most = 1e6;
        if (!points || *points < 2 || *points > most || *points != std::floor(*points))
            throw wrong("/ must be followed by a number of grid points, 2 or more");
        dimension.points = static_cast<std::size_t>(*points);
        values = values.substr(0, slash);
    }
    const auto dots = values.find("..");
    const auto low = number_of(values.substr(0, dots)), high = number_of(values.substr(dots + 2));
    if (!low || !high || *low >= *high)
        throw wrong("an interval needs two numbers, the lower one first");
    if (dimension.logarithmic && *low <= 0)
        throw wrong("a logarithmic interval must begin above 0");
    const ValueKind kind = setting != nullptr ? setting->kind() : ValueKind::integer;
    if (kind != ValueKind::integer && kind != ValueKind::number)
        throw wrong("this setting takes no interval of numbers");
    dimension.low = *low;
    dimension.high = *high;
    dimension.integer = kind == ValueKind::integer;
    for (const double end : {dimension.low, dimension.high})
        check_value(dimension, dimension.integer ? Json(std::llround(end)) : Json(end));
}

/// The number of values that a dimension can take; 0 if it is an interval of real numbers.
std::uint64_t values_of(const Dimension& dimension) {
    if (!dimension.choices.empty())
        return dimension.choices.size();
    if (!dimension.integer || dimension.high - dimension.low >= static_cast<double>(most_distinct_points))
        return 0;
    return static_cast<std::uint64_t>(std::llround(dimension.high) - std::llround(dimension.low) + 1);
}

/// The number of points of a space; 0 if it has more than most_distinct_points.
std::uint64_t points_of_small_space(const std::vector<Dimension>& dimensions) {
    std::uint64_t points = 1;
    for (const Dimension& dimension : dimensions) {
        points *= values_of(dimension);
        if (points == 0 || points > most_distinct_points)
            return 0;
    }
    return points;
}

} // namespace

Json Dimension::at(double position) const {
    if (!choices.empty()) {
        const auto index = static_cast<std::size_t>(position * static_cast<double>(choices.size()));
        return choices[std::min(index, choices.size() - 1)];
    }
    const double value = logarithmic ? low * std::pow(high / low, position) : low + (high - low) * position;
    return integer ? Json(std::llround(value)) : Json(std::clamp(value, low, high));
}

std::vector<Json> Dimension::grid() const {
    if (!choices.empty())
        return choices;
    std::vector<Json> values;
    for (std::size_t i = 0; i < points; ++i) {
        Json value = at(static_cast<double>(i) / static_cast<double>(points - 1));
        if (values.empty() || value != values.back()) // rounding to whole numbers can repeat a value
            values.push_back(std::move(value));
    }
    return values;
}

std::vector<std::string> searchable_keys() {
    std::vector<std::string> keys;
    for (const Setting& setting : trainer::settings())
        if (is_searched(setting))
            keys.push_back(setting.key());
    keys.emplace_back(train_rows_key);
    return keys;
}

std::vector<std::string> row_keys() {
    std::vector<std::string> keys;
    for (const Setting& setting : trainer::settings())
        if (is_searched(setting) && holds(row_groups, setting.group))
            keys.push_back(setting.key());
    return keys;
}

Dimension parse_dimension(std::string_view text) {
    const auto equals = text.find('=');
    if (equals == std::string_view::npos)
        throw wrong_values(text, "there is no = after the name");
    Dimension dimension;
    dimension.key = key_from(text.substr(0, equals));
    const Setting* setting = searched_setting(dimension.key);
    if (setting == nullptr && dimension.key != train_rows_key) {
        std::string names;
        for (std::string key : searchable_keys()) {
            std::ranges::replace(key, '_', '-');
            names += (names.empty() ? "" : ", ") + key;
        }
        throw usage_error(fmt::format("{} cannot vary in a search", trim(text.substr(0, equals))))
            .at("--vary")
            .expected("one of " + names);
    }
    const std::string_view values = trim(text.substr(equals + 1));
    if (values.find("..") != std::string_view::npos) {
        parse_interval(dimension, setting, values, text);
        return dimension;
    }
    for (const std::string_view part : split(values, '|')) {
        if (trim(part).empty())
            throw wrong_values(text, "a value is missing");
        dimension.choices.push_back(value_of(setting, trim(part), text));
        check_value(dimension, dimension.choices.back());
    }
    return dimension;
}

SearchPoints::SearchPoints(std::vector<Dimension> dimensions, SearchMethod method, std::uint64_t seed)
    : dimensions_(std::move(dimensions)), method_(method), seed_(seed) {
    if (method == SearchMethod::grid) {
        constexpr double most = 4294967296;
        count_ = 1;
        for (const Dimension& dimension : dimensions_) {
            if (dimension.choices.empty() && dimension.points == 0)
                throw usage_error(fmt::format("a grid needs the number of values of {}", dimension.key))
                    .at("--vary")
                    .expected("LOW..HIGH/POINTS, or --method random, sobol or halving");
            grid_.push_back(dimension.grid());
            if (static_cast<double>(count_) * static_cast<double>(grid_.back().size()) > most)
                throw usage_error("the grid has more than 2^32 points")
                    .at("--vary")
                    .hint("Try N of them with --method sobol --trials N.");
            count_ *= grid_.back().size();
        }
    } else if (method != SearchMethod::random && dimensions_.size() > sobol_dimensions) {
        throw usage_error(fmt::format("a Sobol sequence can have at most {} dimensions, not {}",
                                      sobol_dimensions, dimensions_.size()))
            .at("--method")
            .hint("--method random has no limit.");
    }
    if (method != SearchMethod::grid)
        number_distinct_points();
}

/// Numbers the points of a small space in the order in which they are first drawn. Stops when every point has
/// been drawn, or after 64 draws per point, which miss a point with a probability below 1e-9.
void SearchPoints::number_distinct_points() {
    constexpr std::uint64_t draws_per_point = 64;
    const std::uint64_t points = points_of_small_space(dimensions_);
    std::set<std::string> seen;
    for (std::uint64_t draw = 0; draw < draws_per_point * points && seen.size() < points; ++draw)
        if (seen.insert(Json(drawn(draw)).dump()).second)
            draws_.push_back(draw);
    count_ = draws_.size();
}

SearchPoint SearchPoints::at(std::uint64_t index) const {
    if (method_ != SearchMethod::grid)
        return drawn(draws_.empty() ? index : draws_.at(index));
    SearchPoint point(grid_.size());
    std::uint64_t rest = index;
    for (std::size_t d = grid_.size(); d-- > 0; rest /= grid_[d].size())
        point[d] = grid_[d][rest % grid_[d].size()];
    return point;
}

SearchPoint SearchPoints::drawn(std::uint64_t draw) const {
    SearchPoint point;
    PhiloxStream draws(seed_, RandomPurpose::search, 0, method_ == SearchMethod::random ? draw + 1 : 0);
    std::vector<std::uint32_t> sobol;
    if (method_ != SearchMethod::random)
        sobol = sobol_point(static_cast<std::uint32_t>(draw), dimensions_.size());
    for (std::size_t d = 0; d < dimensions_.size(); ++d)
        point.push_back(dimensions_[d].at(sobol.empty()
                                              ? draws.next_double()
                                              : static_cast<double>(sobol[d] ^ draws.next_u32()) * 0x1p-32));
    return point;
}

} // namespace rekindle::research
