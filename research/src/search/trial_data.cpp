#include "search/search_job.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/trainer/settings.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace rekindle::research {

namespace {

using Json = nlohmann::ordered_json;

/// The cache keeps at most this much data besides the data in use.
constexpr std::size_t kept_bytes = std::size_t{256} << 20;
constexpr std::size_t most_bytes = std::size_t{4} << 30;

void require_memory(std::span<const Fold> folds, std::size_t columns) {
    std::size_t bytes = 0;
    for (const Fold& fold : folds)
        bytes += FoldBlock::bytes_of(fold, columns);
    if (bytes > most_bytes)
        throw usage_error(
            fmt::format("the rows of all {} take {}", counted(folds.size(), "fold"), format_bytes(bytes)))
            .at("--folds")
            .expected("at most 4 GiB")
            .hint("Use fewer folds, or --window rolling with fewer --train-rows.");
}

} // namespace

std::size_t TrialData::bytes() const noexcept {
    return rows.matrix.rows() * rows.matrix.columns() * sizeof(double) +
           std::size_t{4} * rows.matrix.columns() * (block.samples().count + 1);
}

trainer::TrainConfig config_of(const StoredSearch& search, const Json& settings,
                               std::optional<std::int64_t> epochs) {
    Json own = settings;
    own.erase(train_rows_key);
    trainer::TrainConfig config = search.config;
    trainer::update_from_json(own, config);
    if (epochs)
        config.epochs = *epochs;
    return config;
}

WalkForwardRules rules_of(const StoredSearch& search, const Json& settings) {
    WalkForwardRules rules = search.rules.folds;
    if (settings.contains(train_rows_key)) {
        rules.train_rows = settings.at(train_rows_key).get<std::size_t>();
        rules.window = Window::rolling;
    }
    return rules;
}

std::string chosen_values(const Json& settings, std::span<const std::string_view> names) {
    Json values = Json::object();
    for (const std::string_view name : names)
        if (const auto found = settings.find(name); found != settings.end())
            values[std::string(name)] = *found;
    return values.dump();
}

std::string data_key(const Json& settings) {
    const std::vector<std::string> of_rows = row_keys();
    std::vector<std::string_view> names(of_rows.begin(), of_rows.end());
    names.emplace_back(train_rows_key);
    return chosen_values(settings, names);
}

std::shared_ptr<const TrialData> TrialDataCache::get(const Json& settings) {
    const std::string key = data_key(settings);
    if (const auto found = kept_.find(key); found != kept_.end())
        return found->second;
    std::size_t bytes = 0;
    for (const auto& [other, data] : kept_)
        bytes += data->bytes();
    if (bytes > kept_bytes)
        kept_.clear();
    const trainer::TrainConfig config = config_of(search_, settings, std::nullopt);
    ForecastRows rows = label_rows(config, markets_, pool_, progress_);
    FoldPlan plan = plan_folds(rows.times(), rules_of(search_, settings));
    require_memory(plan.folds, rows.inputs());
    FoldBlock block(rows, plan.folds, pool_);
    const std::int64_t until = plan.final_rows.size() > 0 ? rows.known_at[plan.final_rows.begin]
                                                          : std::numeric_limits<std::int64_t>::max();
    TestRows scored = scored_test_rows(rows, plan.folds, until);
    std::vector<std::int64_t> instants = timing_instants(rows, scored);
    instants_.try_emplace(key, instants);
    auto data = std::make_shared<const TrialData>(TrialData{
        std::move(rows), std::move(plan), std::move(block), std::move(scored), std::move(instants)});
    kept_.emplace(key, data);
    return data;
}

std::span<const std::int64_t> TrialDataCache::instants(const Json& settings) {
    const std::string key = data_key(settings);
    if (!instants_.contains(key))
        get(settings);
    return instants_.at(key);
}

std::string value_text(const Json& value) {
    if (value.is_string())
        return value.get<std::string>();
    if (value.is_number_float())
        return fmt::format("{:.4g}", value.get<double>());
    if (!value.is_array())
        return value.dump();
    std::string text;
    for (const Json& part : value)
        text += (text.empty() ? "" : ",") + value_text(part);
    return text;
}

std::string settings_text(const Json& settings) {
    std::string text;
    for (const auto& [key, value] : settings.items()) {
        std::string name = key;
        std::ranges::replace(name, '_', '-');
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value_text(value));
    }
    return text;
}

} // namespace rekindle::research
