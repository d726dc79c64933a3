#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/trainer/model_file.h>

#include <fmt/format.h>

#include <cmath>

namespace rekindle::trainer {

namespace {

using nlohmann::ordered_json;

/// JSON has no NaN: null replaces it.
ordered_json finite_or_null(double value) {
    return std::isfinite(value) ? ordered_json(value) : ordered_json();
}

double number_at(const ordered_json& json, const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_number() ? found->get<double>() : ModelFile::unknown;
}

template <class T>
T value_at(const ordered_json& json, const char* key, T otherwise = {}) {
    const auto found = json.find(key);
    if (found == json.end() || found->is_null())
        return otherwise;
    try {
        return found->get<T>();
    } catch (const nlohmann::json::exception&) {
        throw usage_error(fmt::format("the key '{}' of a model file has the wrong type: {}", key,
                                      found->dump().substr(0, 60)));
    }
}

ordered_json metric_column(const std::vector<EpochMetrics>& history, auto member) {
    auto values = ordered_json::array();
    for (const EpochMetrics& epoch : history) {
        if constexpr (std::is_floating_point_v<std::remove_cvref_t<decltype(epoch.*member)>>)
            values.push_back(finite_or_null(epoch.*member));
        else
            values.push_back(epoch.*member);
    }
    return values;
}

/// One list per figure, as training loops in Python keep it.
ordered_json history_columns(const std::vector<EpochMetrics>& history) {
    return {{"epoch", metric_column(history, &EpochMetrics::epoch)},
            {"train_loss", metric_column(history, &EpochMetrics::train_loss)},
            {"val_loss", metric_column(history, &EpochMetrics::validation_loss)},
            {"accuracy", metric_column(history, &EpochMetrics::accuracy)},
            {"learning_rate", metric_column(history, &EpochMetrics::learning_rate)},
            {"gradient_norm", metric_column(history, &EpochMetrics::gradient_norm)},
            {"steps", metric_column(history, &EpochMetrics::steps)},
            {"seconds", metric_column(history, &EpochMetrics::seconds)},
            {"rows_per_second", metric_column(history, &EpochMetrics::rows_per_second)},
            {"best", metric_column(history, &EpochMetrics::best)}};
}

template <class T>
void fill(const ordered_json& json, const char* key, std::vector<EpochMetrics>& history,
          T EpochMetrics::*member) {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_array())
        return;
    if (found->size() != history.size())
        throw usage_error(fmt::format("the history of a model file has {} but {} of '{}'",
                                      counted(static_cast<std::int64_t>(history.size()), "epoch"),
                                      counted(static_cast<std::int64_t>(found->size()), "value"), key));
    for (std::size_t i = 0; i < history.size(); ++i) {
        const ordered_json& value = (*found)[i];
        if constexpr (std::is_same_v<T, double>)
            history[i].*member = value.is_number() ? value.get<double>() : ModelFile::unknown;
        else if constexpr (std::is_same_v<T, bool>)
            history[i].*member = value.is_boolean() && value.get<bool>();
        else
            history[i].*member = value.is_number_integer() ? value.get<T>() : T{};
    }
}

std::vector<EpochMetrics> history_of(const ordered_json& json) {
    const auto epochs = json.find("epoch");
    if (epochs == json.end() || !epochs->is_array())
        return {};
    std::vector<EpochMetrics> history(epochs->size());
    fill(json, "epoch", history, &EpochMetrics::epoch);
    fill(json, "train_loss", history, &EpochMetrics::train_loss);
    fill(json, "val_loss", history, &EpochMetrics::validation_loss);
    fill(json, "accuracy", history, &EpochMetrics::accuracy);
    fill(json, "learning_rate", history, &EpochMetrics::learning_rate);
    fill(json, "gradient_norm", history, &EpochMetrics::gradient_norm);
    fill(json, "steps", history, &EpochMetrics::steps);
    fill(json, "seconds", history, &EpochMetrics::seconds);
    fill(json, "rows_per_second", history, &EpochMetrics::rows_per_second);
    fill(json, "best", history, &EpochMetrics::best);
    return history;
}

} // namespace

ordered_json model_metadata(const ModelFile& file) {
    ordered_json json;
    json["version"] = file.version;
    json["timestamp"] = file.timestamp;
    json["architecture"] = {{"input_dim", file.model.inputs},
                            {"hidden_layers", file.hidden_layers},
                            {"dropout_rate", file.dropout_rate}};
    json["feature_columns"] = file.feature_columns;
    json["epoch"] = file.epoch;
    json["loss"] = finite_or_null(file.loss);
    json["metadata"] = {{"accuracy", finite_or_null(file.accuracy)},
                        {"train_loss", finite_or_null(file.train_loss)},
                        {"val_loss", finite_or_null(file.validation_loss)},
                        {"feature_columns", file.feature_columns}};
    if (!file.history.empty())
        json["metadata"]["history"] = history_columns(file.history);
    if (std::isfinite(file.training_seconds))
        json["metadata"]["training_time"] = file.training_seconds;
    ordered_json details = file.details;
    nlohmann::json model;
    to_json(model, file.model);
    details["model"] = ordered_json::parse(model.dump());
    json["rekindle"] = std::move(details);
    return json;
}

ModelFile model_from_metadata(const ordered_json& json) {
    if (!json.is_object())
        throw usage_error("a model's metadata is not a JSON object");
    ModelFile file;
    file.version = value_at<std::string>(json, "version");
    file.timestamp = value_at<std::string>(json, "timestamp");
    const auto architecture = value_at<ordered_json>(json, "architecture", ordered_json::object());
    file.model.inputs = value_at<std::size_t>(architecture, "input_dim");
    const auto hidden = architecture.find("hidden_layers");
    // The original put live modules there, which JSON cannot hold.
    if (hidden != architecture.end() && hidden->is_array())
        file.hidden_layers = value_at<std::vector<std::int64_t>>(architecture, "hidden_layers");
    const double dropout_rate = number_at(architecture, "dropout_rate");
    file.dropout_rate = std::isnan(dropout_rate) ? 0 : dropout_rate;
    file.feature_columns = value_at<std::vector<std::string>>(json, "feature_columns");
    file.epoch = value_at<std::int64_t>(json, "epoch");
    file.loss = number_at(json, "loss");
    const auto metadata = value_at<ordered_json>(json, "metadata", ordered_json::object());
    file.accuracy = number_at(metadata, "accuracy");
    file.train_loss = number_at(metadata, "train_loss");
    file.validation_loss = number_at(metadata, "val_loss");
    file.training_seconds = number_at(metadata, "training_time");
    if (file.feature_columns.empty())
        file.feature_columns = value_at<std::vector<std::string>>(metadata, "feature_columns");
    if (const auto history = metadata.find("history"); history != metadata.end() && history->is_object())
        file.history = history_of(*history);
    file.details = value_at<ordered_json>(json, "rekindle", ordered_json::object());
    if (!file.details.is_object())
        throw usage_error("the key 'rekindle' of a model file is not an object");
    if (const auto model = file.details.find("model"); model != file.details.end())
        from_json(nlohmann::json::parse(model->dump()), file.model);
    return file;
}

} // namespace rekindle::trainer
