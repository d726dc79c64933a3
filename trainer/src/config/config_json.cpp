#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/trainer/settings.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string_view>

namespace rekindle::trainer {

namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void refuse(const Setting& setting, const Json& value, std::string expected) {
    throw usage_error(fmt::format("invalid value {}", value.dump()))
        .at("--" + std::string(setting.name))
        .expected(std::move(expected));
}

/// The value of one setting as JSON.
struct FieldWriter {
    const TrainConfig& config;

    template <class T>
    Json operator()(T TrainConfig::*field) const {
        return config.*field;
    }
    Json operator()(const ChoiceField& field) const { return field.name(config); }
};

/// Checks a value and stores it in the field of the setting.
struct FieldReader {
    const Setting& setting;
    const Json& value;
    TrainConfig& config;

    void operator()(std::string TrainConfig::*field) const {
        if (!value.is_string())
            refuse(setting, value, "a string");
        config.*field = value.get<std::string>();
    }
    void operator()(std::vector<std::string> TrainConfig::*field) const {
        if (value.is_string()) {
            config.*field = {value.get<std::string>()};
            return;
        }
        if (!value.is_array() ||
            !std::all_of(value.begin(), value.end(), [](const Json& e) { return e.is_string(); }))
            refuse(setting, value, "a list of strings");
        config.*field = value.get<std::vector<std::string>>();
    }
    void operator()(bool TrainConfig::*field) const {
        if (!value.is_boolean())
            refuse(setting, value, "true or false");
        config.*field = value.get<bool>();
    }
    void operator()(std::int64_t TrainConfig::*field) const {
        if (!value.is_number_integer() || !setting.range.contains(value.get<double>()))
            refuse(setting, value, setting.range.text("a whole number"));
        config.*field = value.get<std::int64_t>();
    }
    void operator()(double TrainConfig::*field) const {
        if (!value.is_number() || !setting.range.contains(value.get<double>()))
            refuse(setting, value, setting.range.text("a number"));
        config.*field = value.get<double>();
    }
    void operator()(std::vector<std::int64_t> TrainConfig::*field) const {
        const auto fits = [&](const Json& e) {
            return e.is_number_integer() && setting.range.contains(e.get<double>());
        };
        if (!value.is_array() || value.empty() || !std::all_of(value.begin(), value.end(), fits))
            refuse(setting, value, setting.range.text("whole numbers such as 128,64, each"));
        config.*field = value.get<std::vector<std::int64_t>>();
    }
    void operator()(const ChoiceField& field) const {
        if (!value.is_string() || !field.set(config, value.get<std::string>()))
            refuse(setting, value, fmt::format("one of {}", fmt::join(field.names(), ", ")));
    }
};

[[noreturn]] void refuse_unknown(const std::string& key, const std::vector<std::string>& keys) {
    Error error = usage_error(fmt::format("unknown setting \"{}\"", key));
    if (const std::string_view near = nearest_word(key, {keys.begin(), keys.end()}); !near.empty())
        error.hint(fmt::format("Did you mean \"{}\"?", near));
    throw error;
}

} // namespace

void to_json(Json& json, const TrainConfig& config) {
    json = Json::object();
    for (const Setting& setting : settings())
        json[setting.key()] = std::visit(FieldWriter{config}, setting.field);
}

void update_from_json(const Json& json, TrainConfig& config) {
    if (!json.is_object())
        throw usage_error("a configuration must be a JSON object")
            .expected(R"({"data": ["bars.csv"], "epochs": 3})");
    TrainConfig updated = config;
    std::vector<std::string> keys;
    for (const Setting& setting : settings()) {
        keys.push_back(setting.key());
        if (const auto found = json.find(keys.back()); found != json.end())
            std::visit(FieldReader{setting, *found, updated}, setting.field);
    }
    for (const auto& item : json.items())
        if (std::find(keys.begin(), keys.end(), item.key()) == keys.end())
            refuse_unknown(item.key(), keys);
    config = std::move(updated);
}

} // namespace rekindle::trainer
