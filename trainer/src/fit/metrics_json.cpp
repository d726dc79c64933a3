#include "metrics_json.h"

#include <limits>

namespace rekindle::trainer {

namespace {

/// JSON has no NaN: unknown figures are null.
double number_or_nan(const nlohmann::ordered_json& json) {
    return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

} // namespace

nlohmann::ordered_json metrics_to_json(const EpochMetrics& m) {
    nlohmann::ordered_json json{{"epoch", m.epoch},
                                {"epochs", m.epochs},
                                {"train_loss", m.train_loss},
                                {"val_loss", m.validation_loss},
                                {"accuracy", m.accuracy},
                                {"learning_rate", m.learning_rate},
                                {"gradient_norm", m.gradient_norm},
                                {"steps", m.steps},
                                {"seconds", m.seconds},
                                {"rows_per_second", m.rows_per_second},
                                {"best", m.best}};
    if (m.networks > 1) {
        json["networks"] = m.networks;
        json["val_loss_lowest"] = m.lowest_validation_loss;
    }
    return json;
}

EpochMetrics metrics_from_json(const nlohmann::ordered_json& json) {
    EpochMetrics m;
    m.epoch = json.at("epoch");
    m.epochs = json.at("epochs");
    m.train_loss = number_or_nan(json.at("train_loss"));
    m.validation_loss = number_or_nan(json.at("val_loss"));
    m.accuracy = number_or_nan(json.at("accuracy"));
    m.learning_rate = json.at("learning_rate");
    m.gradient_norm = number_or_nan(json.at("gradient_norm"));
    m.steps = json.at("steps");
    m.seconds = json.at("seconds");
    m.rows_per_second = json.at("rows_per_second");
    m.best = json.at("best");
    m.networks = json.value("networks", std::uint64_t{1});
    m.lowest_validation_loss = json.value("val_loss_lowest", 0.0);
    return m;
}

} // namespace rekindle::trainer
