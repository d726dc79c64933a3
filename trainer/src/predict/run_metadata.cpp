#include "run_metadata.h"

#include <rekindle/base/version.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/market/clock.h>
#include <rekindle/mlp/engine.h>
#include <rekindle/trainer/settings.h>

#include <fmt/format.h>

namespace rekindle::trainer {

namespace {

using Json = nlohmann::ordered_json;
constexpr int metadata_format = 1;

std::string date_of_row(const Dataset& set, std::size_t row) {
    return market::format_date(set.matrix.dates[row]);
}

Json split_json(const Dataset& set) {
    const market::Split& split = set.split;
    return {{"train_rows", split.train_end - split.train_begin},
            {"train_from", date_of_row(set, split.train_begin)},
            {"train_to", date_of_row(set, split.train_end - 1)},
            {"purged_rows", split.purge},
            {"rows_left_out_between", split.validation_begin - split.train_end},
            {"validation_rows", split.validation_end - split.validation_begin},
            {"validation_from", date_of_row(set, split.validation_begin)},
            {"validation_to", date_of_row(set, split.validation_end - 1)}};
}

Json forecasts_json(const ForecastRecord& record) {
    return {{"seed", record.seed},
            {"validation_from_utc_seconds", record.validation_from},
            {"validation_to_utc_seconds", record.validation_to},
            {"training_mean", record.training_mean},
            {"training_error", record.training_error}};
}

ForecastRecord forecast_record_of(const Json& json) {
    return {json.at("seed").get<std::uint64_t>(),
            json.at("validation_from_utc_seconds").get<std::int64_t>(),
            json.at("validation_to_utc_seconds").get<std::int64_t>(),
            json.at("training_mean").get<double>(),
            json.at("training_error").get<double>(),
            {}};
}

Json bar_length_json(const market::ReadReport& report) {
    const auto length = market::BarLength::of(report.spacing);
    return {{"seconds", length.seconds},
            {"share", length.share},
            {"text", market::bar_length_text(length.seconds)}};
}

market::BarLength bar_length_of(const Json& json) {
    return {json.at("seconds").get<std::int64_t>(), json.at("share").get<double>()};
}

Json data_json(const market::ReadReport& report) {
    Json json{{"format", report.format},
              {"rows", report.rows},
              {"rejected_rows", report.rejected},
              {"prices_rounded", report.prices_rounded},
              {"bytes", report.bytes},
              {"xxh3_128", report.data_hash.hex()},
              {"vix_source", report.vix_source}};
    for (const auto& file : report.files)
        json["files"].push_back(file.string());
    return json;
}

Json rolls_json(const MarketData& data) {
    Json list = Json::array();
    const auto& names = data.read.bars.metadata().contracts;
    for (const market::Roll& roll : data.plan.rolls)
        list.push_back({{"date", market::format_date(roll.date)},
                        {"from", names[roll.from]},
                        {"to", names[roll.to]},
                        {"gap_points", data.read.report.tick.to_points(static_cast<double>(roll.gap_ticks))},
                        {"reason", roll.reason}});
    return list;
}

/// What was read for one instrument, and what identifies the instrument.
Json market_json(const MarketData& data) {
    Json instrument;
    to_json(instrument, instrument_of(data));
    return {{"tick_points", data.read.report.tick.points},
            {"bar_length", bar_length_json(data.read.report)},
            {"profile_bin_points", data.read.report.profile_bin},
            {"instrument", instrument},
            {"data", data_json(data.read.report)},
            {"rolls", rolls_json(data)}};
}

Json instruments_json(const TrainedRun& run) {
    Json list = Json::array();
    for (std::size_t i = 0; i < run.markets.size(); ++i) {
        const DatasetInstrument& instrument = run.set.instruments[i];
        Json json{{"name", instrument.name}};
        json.update(market_json(run.markets[i]));
        json["hours"] = hours_text(run.markets[i].session_rules);
        json["training_rows"] = instrument.training_rows;
        json["validation_rows"] = instrument.validation_rows;
        json["target_scale"] = instrument.target_scale;
        json["target_center"] = instrument.target_center;
        json["training_share_up"] = instrument.training_share_up;
        json["training_mean"] = instrument.training_mean;
        if (run.forecasts)
            json["training_error"] = run.forecasts->instrument_errors.at(i);
        if (!instrument.scaler.features.empty())
            json["scaler"] = Json(nlohmann::json(instrument.scaler));
        if (run.by_instrument[i].rows > 0)
            to_json(json["evaluation"], run.by_instrument[i]);
        list.push_back(std::move(json));
    }
    return list;
}

template <class T>
T convert(const Json& json) {
    return nlohmann::json(json).template get<T>();
}

} // namespace

Json run_metadata(const TrainedRun& run) {
    Json config, evaluation, target;
    to_json(config, run.config);
    to_json(evaluation, run.evaluation);
    to_json(target, run.set.meaning);
    Json rules = Json::object();
    for (const char* key : meaning_keys)
        rules[key] = config[key];
    Json timings = Json::object();
    for (const auto& [stage, seconds, summary] : run.stages)
        timings[stage + ", s"] = seconds;
    Json json{
        {"format", metadata_format},
        {"software", version_details()},
        {"instruction_set", std::string(mlp::instruction_set())},
        {"device", {{"name", run.device.device}, {"driver", run.device.driver}, {"why", run.device.why}}},
        {"seed", run.fit.members[run.fit.best_member].seed}};
    const bool several = !run.set.instruments.empty();
    const Json market = several ? Json() : market_json(run.markets.front());
    if (!several)
        for (const char* key : {"tick_points", "bar_length", "profile_bin_points", "instrument"})
            json[key] = market.at(key);
    json["rules"] = rules;
    json["target"] = target;
    json["training_share_up"] = run.set.training_share_up;
    json["split"] = split_json(run.set);
    if (!several)
        for (const char* key : {"data", "rolls"})
            json[key] = market.at(key);
    if (!run.set.scaler.features.empty())
        json["scaler"] = Json(nlohmann::json(run.set.scaler));
    if (several)
        json["instruments"] = instruments_json(run);
    json["model"] = Json(nlohmann::json(run.model));
    json["evaluation"] = evaluation;
    for (const Importance& group : run.importance)
        json["importance"].push_back({{"group", group.group},
                                      {"loss_increase", group.loss_increase},
                                      {"lowest", group.lowest},
                                      {"highest", group.highest}});
    json["timings"] = timings;
    json["config"] = config;
    if (run.forecasts)
        json["forecasts"] = forecasts_json(*run.forecasts);
    if (run.population) {
        Json mean;
        to_json(mean, run.population->mean);
        json["population"] = {{"networks", run.fit.members.size()},
                              {"best_member", run.fit.best_member},
                              {"mean_of_all", mean}};
    }
    return json;
}

Json reusable_metadata(const TrainedRun& run) {
    const Json all = run_metadata(run);
    Json model{{"config", all.at("config")}};
    // Without the location of the run and of its checkpoint, so that a resumed run writes the same file.
    for (const char* key : {"output", "resume_from_checkpoint"})
        model["config"].erase(key);
    for (const char* key :
         {"format", "tick_points", "profile_bin_points", "bar_length", "instrument", "target",
          "training_share_up", "scaler", "model", "evaluation", "instruments", "forecasts"})
        if (all.contains(key))
            model[key] = all.at(key);
    if (model.contains("instruments"))
        for (Json& instrument : model["instruments"])
            for (const char* key : {"data", "rolls"})
                instrument.erase(key);
    return model;
}

namespace {

StoredInstrument stored_instrument(const Json& json) {
    StoredInstrument stored;
    stored.name = json.at("name");
    if (json.contains("scaler"))
        stored.scaler = convert<market::Scaler>(json.at("scaler"));
    stored.target_scale = json.at("target_scale");
    stored.target_center = json.at("target_center");
    stored.training_share_up = json.at("training_share_up");
    stored.tick = json.at("tick_points");
    stored.profile_bin = json.at("profile_bin_points");
    stored.bar_length = bar_length_of(json.at("bar_length"));
    stored.hours = json.value("hours", "");
    stored.training_mean = json.value("training_mean", 0.0);
    stored.training_error = json.value("training_error", 0.0);
    from_json(json.at("instrument"), stored.identity);
    if (json.contains("evaluation"))
        from_json(json.at("evaluation"), stored.evaluation);
    if (!(stored.profile_bin >= 0) || !(stored.target_scale > 0))
        throw usage_error(
            fmt::format("the metadata of {} cannot be read: profile_bin_points is negative or target_scale "
                        "is not positive",
                        stored.name));
    return stored;
}

} // namespace

StoredModel stored_model(const Json& details, const std::filesystem::path& source) {
    StoredModel stored;
    try {
        if (details.at("format").get<int>() != metadata_format)
            throw usage_error(fmt::format("the metadata has format {}", details.at("format").dump()))
                .expected(std::to_string(metadata_format));
        stored.model = convert<mlp::ModelDescription>(details.at("model"));
        if (details.contains("instruments"))
            for (const Json& instrument : details.at("instruments"))
                stored.instruments.push_back(stored_instrument(instrument));
        const bool several = !stored.instruments.empty();
        if (!several || details.contains("scaler"))
            stored.scaler = convert<market::Scaler>(details.at("scaler"));
        from_json(details.at("target"), stored.meaning);
        from_json(details.at("evaluation"), stored.evaluation);
        if (!several)
            stored.tick = details.at("tick_points");
        stored.profile_bin = details.value("profile_bin_points", 0.0);
        stored.training_share_up = details.at("training_share_up");
        update_from_json(details.at("config"), stored.config);
        if (details.contains("instrument"))
            from_json(details.at("instrument"), stored.instrument.emplace());
        if (details.contains("bar_length"))
            stored.bar_length = bar_length_of(details.at("bar_length"));
        if (details.contains("forecasts"))
            stored.forecasts = forecast_record_of(details.at("forecasts"));
        if (!(stored.profile_bin >= 0))
            throw usage_error("the metadata cannot be read: profile_bin_points is negative")
                .at(source.string());
    } catch (const nlohmann::json::exception& error) {
        throw usage_error(fmt::format("the metadata cannot be read: {}", error.what())).at(source.string());
    } catch (Error& error) {
        throw error.at(source.string());
    }
    return stored;
}

StoredModel read_stored_model(const std::filesystem::path& run_folder) {
    const auto path = run_folder / "best_model_metadata.json";
    if (!std::filesystem::exists(path))
        throw usage_error("this folder holds no finished run")
            .at(run_folder.string())
            .expected(path.filename().string())
            .hint("rekindle train --resume-from-checkpoint " + run_folder.string() +
                  " finishes a run that was interrupted.");
    try {
        return stored_model(Json::parse(read_file(path)).at("rekindle"), path);
    } catch (const nlohmann::json::exception& error) {
        throw usage_error(fmt::format("the metadata cannot be read: {}", error.what())).at(path.string());
    }
}

} // namespace rekindle::trainer
