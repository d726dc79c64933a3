#include <rekindle/foundation/error.h>
#include <rekindle/trainer/settings.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>

namespace rekindle::trainer {
namespace {

using Json = nlohmann::ordered_json;

const Setting& setting_named(std::string_view name) {
    for (const Setting& setting : settings())
        if (setting.name == name)
            return setting;
    throw std::runtime_error("no such setting");
}

TEST(Settings, AreTheKeysOfJsonInOrder) {
    Json json;
    to_json(json, TrainConfig{});
    std::vector<std::string> keys, rows;
    for (const auto& item : json.items())
        keys.push_back(item.key());
    for (const Setting& setting : settings())
        rows.push_back(setting.key());
    EXPECT_EQ(rows, keys);
    EXPECT_EQ(keys.front(), "data");
    EXPECT_EQ(keys.back(), "resume_from_checkpoint");
}

TEST(Settings, EachDescribesItsOwnField) {
    for (const Setting& setting : settings()) {
        Json value;
        switch (setting.kind()) {
        case ValueKind::flag:
            value = true;
            break;
        case ValueKind::integer:
            value = 7;
            break;
        case ValueKind::number:
            value = 0.125;
            break;
        case ValueKind::integer_list:
            value = {3, 5};
            break;
        case ValueKind::path_list:
        case ValueKind::word_list:
            value = {"one", "two"};
            break;
        case ValueKind::word:
            value = setting.words().back();
            break;
        default:
            value = "text";
        }
        TrainConfig config;
        update_from_json(Json{{setting.key(), value}}, config);
        Json before, after;
        to_json(before, TrainConfig{});
        to_json(after, config);
        before[setting.key()] = value;
        EXPECT_EQ(after, before) << setting.name;
    }
}

TEST(Settings, EveryWordIsReadAndWritten) {
    for (const Setting& setting : settings()) {
        if (setting.kind() != ValueKind::word)
            continue;
        std::set<std::string_view> seen;
        for (const std::string_view word : setting.words()) {
            EXPECT_TRUE(seen.insert(word).second) << setting.name << " " << word;
            TrainConfig config;
            update_from_json(Json{{setting.key(), word}}, config);
            Json json;
            to_json(json, config);
            EXPECT_EQ(json.at(setting.key()), word) << setting.name;
        }
        EXPECT_GE(seen.size(), 2u) << setting.name;
    }
}

TEST(Settings, WordsComeFromOneList) {
    using Words = std::vector<std::string_view>;
    EXPECT_EQ(setting_named("value-area").words(), (Words{"greedy", "contiguous", "two-row"}));
    EXPECT_EQ(setting_named("features").words(),
              (Words{"session", "vix", "returns", "gap", "calendar", "naked-poc", "delta", "minute"}));
    EXPECT_EQ(name_of(market::TieRule::nearest_middle), "nearest-middle");
    EXPECT_EQ(name_of(market::TargetKind::original), "");
    EXPECT_EQ(choice_named<LossChoice>("auto"), LossChoice::automatic);
    EXPECT_EQ(choice_named<LossChoice>("AUTO"), std::nullopt);
}

TEST(Settings, AWordOfAnotherSettingIsRefused) {
    TrainConfig config;
    try {
        update_from_json(Json{{"optimizer", "cosine"}}, config);
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_EQ(error.render(), "--optimizer: invalid value \"cosine\", expected one of adamw, sgd");
    }
}

} // namespace
} // namespace rekindle::trainer
