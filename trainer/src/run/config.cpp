#include <rekindle/base/error.h>
#include <rekindle/base/range.h>
#include <rekindle/base/text.h>
#include <rekindle/trainer/config.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <string_view>

namespace rekindle::trainer {

namespace {

using Json = nlohmann::ordered_json;
using Words = std::initializer_list<std::string_view>;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr Range positive{0, infinity, true, false};
constexpr Range at_least_zero{0, infinity, false, false};
constexpr Range at_least_one{1, infinity, false, false};

/// The list of all fields; every conversion visits it.
template <class Config, class Visitor>
void visit_fields(Config& c, Visitor&& v) {
    v.texts("data", c.data);
    v.text("vix", c.vix);
    v.text("columns", c.columns);
    v.text("contract", c.contract);
    v.number("data_fraction", c.data_fraction, Range{0, 1, true, false});
    v.text("tick", c.tick);
    v.word("bad_rows", c.bad_rows, {"error", "skip"});
    v.integer("chunk_size", c.chunk_size, at_least_zero);

    v.word("clock", c.clock, {"utc", "exchange", "raw"});
    v.text("zone", c.zone);
    v.word("stamp", c.stamp, {"end", "start"});
    v.word("session", c.session, {"rth", "eth", "all"});
    v.word("session_length", c.session_length, {"day", "week"});
    v.text("day_start", c.day_start);
    v.text("regular_hours", c.regular_hours);
    v.text("calendar", c.calendar);
    v.word("roll", c.roll, {"volume", "calendar", "single"});

    v.word("weighting", c.weighting, {"uniform", "close", "ohlc"});
    v.word("value_area", c.value_area, {"greedy", "contiguous", "two-row"});
    v.word("tie", c.tie, {"lowest", "nearest-middle"});
    v.word("compat", c.compat, {"none", "original"});

    v.texts("features", c.features);
    v.word("scaler", c.scaler, {"robust", "standard", "none"});
    v.word("target", c.target, {"return", "direction", "bar-return"});
    v.integer("target_bars", c.target_bars, at_least_one);
    v.boolean("across_sessions", c.across_sessions);
    v.number("train_split", c.train_split, Range{0, 1, true, true});
    v.integer("purge", c.purge, at_least_zero);
    v.integer("embargo", c.embargo, at_least_zero);

    v.text("model", c.model);
    v.integers("hidden_layers", c.hidden_layers, Range{1, 65536});
    v.number("dropout_rate", c.dropout_rate, Range{0, 1, false, true});
    v.word("activation", c.activation, {"silu", "relu", "gelu", "tanh"});

    v.word("loss", c.loss, {"auto", "mse", "huber", "bce", "gaussian-nll"});
    v.number("huber_delta", c.huber_delta, positive);
    v.word("optimizer", c.optimizer, {"adamw", "sgd"});
    v.number("learning_rate", c.learning_rate, positive);
    v.number("weight_decay", c.weight_decay, at_least_zero);
    v.number("momentum", c.momentum, Range{0, 1, false, true});
    v.word("schedule", c.schedule, {"constant", "plateau", "cosine"});
    v.integer("warmup_steps", c.warmup_steps, at_least_zero);
    v.integer("plateau_patience", c.plateau_patience, at_least_zero);
    v.number("clip_norm", c.clip_norm, at_least_zero);
    v.integer("batch_size", c.batch_size, at_least_one);
    v.integer("epochs", c.epochs, at_least_one);
    v.integer("gradient_accumulation_steps", c.gradient_accumulation_steps, at_least_one);
    v.integer("early_stopping", c.early_stopping, at_least_zero);
    v.number("ema", c.ema, Range{0, 1, false, true});
    v.boolean("use_mixed_precision", c.use_mixed_precision);
    v.integer("seed", c.seed, at_least_zero);
    v.integer("population", c.population, Range{1, 1'000'000});

    v.text("output", c.output);
    v.text("device", c.device);
    v.text("device_ids", c.device_ids);
    v.boolean("no_distributed", c.no_distributed);
    v.word("distributed_strategy", c.distributed_strategy, {"auto", "dataparallel", "fsdp"});
    v.boolean("skip_gpu_cleanup", c.skip_gpu_cleanup);
    v.integer("threads", c.threads, at_least_zero);
    v.integer("checkpoint_interval", c.checkpoint_interval, at_least_zero);
    v.integer("keep_checkpoints", c.keep_checkpoints, at_least_one);
    v.text("resume_from_checkpoint", c.resume_from_checkpoint);
}

struct Writer {
    Json& json;
    template <class T>
    void put(std::string_view key, const T& value) {
        json[std::string(key)] = value;
    }
    void text(std::string_view k, const std::string& v) { put(k, v); }
    void texts(std::string_view k, const std::vector<std::string>& v) { put(k, v); }
    void word(std::string_view k, const std::string& v, Words) { put(k, v); }
    void number(std::string_view k, double v, const Range&) { put(k, v); }
    void integer(std::string_view k, std::int64_t v, const Range&) { put(k, v); }
    void integers(std::string_view k, const std::vector<std::int64_t>& v, const Range&) { put(k, v); }
    void boolean(std::string_view k, bool v) { put(k, v); }
};

std::string option_name(std::string_view key) {
    std::string name = "--" + std::string(key);
    std::replace(name.begin(), name.end(), '_', '-');
    return name;
}

[[noreturn]] void refuse(std::string_view key, const Json& value, std::string expected) {
    throw usage_error(fmt::format("invalid value {}", value.dump()))
        .at(option_name(key))
        .expected(std::move(expected));
}

struct Reader {
    const Json& json;
    std::vector<std::string_view> keys{};

    const Json* find(std::string_view key) {
        keys.push_back(key);
        const auto found = json.find(std::string(key));
        return found == json.end() ? nullptr : &*found;
    }
    void text(std::string_view key, std::string& field) {
        if (const Json* value = find(key)) {
            if (!value->is_string())
                refuse(key, *value, "a string");
            field = value->get<std::string>();
        }
    }
    void texts(std::string_view key, std::vector<std::string>& field) {
        if (const Json* value = find(key)) {
            if (value->is_string()) {
                field = {value->get<std::string>()};
                return;
            }
            if (!value->is_array() ||
                !std::all_of(value->begin(), value->end(), [](const Json& e) { return e.is_string(); }))
                refuse(key, *value, "a list of strings");
            field = value->get<std::vector<std::string>>();
        }
    }
    void word(std::string_view key, std::string& field, Words words) {
        if (const Json* value = find(key)) {
            if (!value->is_string() ||
                std::find(words.begin(), words.end(), value->get<std::string>()) == words.end())
                refuse(key, *value, fmt::format("one of {}", fmt::join(words, ", ")));
            field = value->get<std::string>();
        }
    }
    void number(std::string_view key, double& field, const Range& range) {
        if (const Json* value = find(key)) {
            if (!value->is_number() || !range.contains(value->get<double>()))
                refuse(key, *value, range.text("a number"));
            field = value->get<double>();
        }
    }
    void integer(std::string_view key, std::int64_t& field, const Range& range) {
        if (const Json* value = find(key)) {
            if (!value->is_number_integer() || !range.contains(value->get<double>()))
                refuse(key, *value, range.text("a whole number"));
            field = value->get<std::int64_t>();
        }
    }
    void integers(std::string_view key, std::vector<std::int64_t>& field, const Range& range) {
        if (const Json* value = find(key)) {
            const auto fits = [&](const Json& e) {
                return e.is_number_integer() && range.contains(e.get<double>());
            };
            if (!value->is_array() || value->empty() || !std::all_of(value->begin(), value->end(), fits))
                refuse(key, *value, range.text("whole numbers such as 128,64, each"));
            field = value->get<std::vector<std::int64_t>>();
        }
    }
    void boolean(std::string_view key, bool& field) {
        if (const Json* value = find(key)) {
            if (!value->is_boolean())
                refuse(key, *value, "true or false");
            field = value->get<bool>();
        }
    }
};

} // namespace

void to_json(Json& json, const TrainConfig& config) {
    json = Json::object();
    visit_fields(config, Writer{json});
}

void update_from_json(const Json& json, TrainConfig& config) {
    if (!json.is_object())
        throw usage_error("a configuration must be a JSON object")
            .expected(R"({"data": ["bars.csv"], "epochs": 3})");
    TrainConfig updated = config;
    Reader reader{json};
    visit_fields(updated, reader);
    for (const auto& [key, value] : json.items()) {
        if (std::find(reader.keys.begin(), reader.keys.end(), key) != reader.keys.end())
            continue;
        Error error = usage_error(fmt::format("unknown setting \"{}\"", key));
        if (const std::string_view near = nearest_word(key, reader.keys); !near.empty())
            error.hint(fmt::format("Did you mean \"{}\"?", near));
        throw error;
    }
    config = std::move(updated);
}

} // namespace rekindle::trainer
