#include <rekindle/foundation/error.h>
#include <rekindle/trainer/settings.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace rekindle::trainer {
namespace {

using Json = nlohmann::ordered_json;

TEST(TrainConfig, RoundTripsThroughJson) {
    TrainConfig config;
    config.data = {"a.csv", "b.csv"};
    config.hidden_layers = {32, 16};
    config.learning_rate = 2e-4;
    config.use_mixed_precision = true;
    Json json;
    to_json(json, config);
    TrainConfig read;
    update_from_json(Json::parse(json.dump()), read);
    EXPECT_EQ(read, config);
}

TEST(TrainConfig, ReportsInvalidSettings) {
    const auto message = [](const char* text) -> std::string {
        TrainConfig config;
        try {
            update_from_json(Json::parse(text), config);
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), ExitStatus::usage);
            return error.render();
        }
        return "accepted";
    };
    EXPECT_EQ(message(R"({"epoch": 3})"), "unknown setting \"epoch\"\n  Did you mean \"epochs\"?");
    EXPECT_EQ(message(R"({"epochs": 0})"), "--epochs: invalid value 0, expected a whole number, at least 1");
    EXPECT_EQ(message(R"({"dropout_rate": 1})"),
              "--dropout-rate: invalid value 1, expected a number of at least 0 and below 1");
    EXPECT_EQ(message(R"({"clock": "et"})"),
              "--clock: invalid value \"et\", expected one of utc, exchange, raw");
    EXPECT_EQ(message(R"({"epochs": 3, "clock": "raw"})"), "accepted");
}

TEST(TrainConfig, IsUnchangedByABadUpdate) {
    TrainConfig config;
    EXPECT_THROW(update_from_json(Json::parse(R"({"epochs": 7, "batch_size": -1})"), config), Error);
    EXPECT_EQ(config, TrainConfig{});
}

} // namespace
} // namespace rekindle::trainer
