#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/scaler.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace rekindle::market {
namespace {

constexpr std::array kinds{std::pair{Scaler::Kind::robust, "robust"},
                           std::pair{Scaler::Kind::standard, "standard"},
                           std::pair{Scaler::Kind::none, "none"}};

/// nlohmann converts numbers silently: -1 becomes a large count, true becomes 1.
std::size_t read_count(const nlohmann::json& json) {
    if (!json.is_number_unsigned())
        throw usage_error("the scaler's \"rows\" is not a count").expected("an integer that is at least 0");
    return json.get<std::size_t>();
}

std::vector<double> read_numbers(const nlohmann::json& json, const char* key) {
    const nlohmann::json& array = json.at(key);
    if (!array.is_array() ||
        !std::all_of(array.begin(), array.end(), [](const auto& x) { return x.is_number(); }))
        throw usage_error(fmt::format("the scaler's {} is invalid", key)).expected("an array of numbers");
    return array.get<std::vector<double>>();
}

void check(const Scaler& scaler) {
    const auto finite = [](double value) { return std::isfinite(value); };
    if (scaler.center.size() != scaler.features.size() || scaler.scale.size() != scaler.features.size())
        throw usage_error(
            fmt::format("the scaler has {}, {} and {}", counted(scaler.features.size(), "feature"),
                        counted(scaler.center.size(), "center"), counted(scaler.scale.size(), "scale")))
            .expected("the same number of each");
    for (std::size_t i = 0; i < scaler.features.size(); ++i)
        if (!finite(scaler.center[i]) || !finite(scaler.scale[i]) || !(scaler.scale[i] > 0))
            throw usage_error(
                fmt::format("the scaler's center or scale of {} is invalid", scaler.features[i]))
                .expected("finite numbers, and a scale above 0");
    if (!finite(scaler.clip) || scaler.clip < 0)
        throw usage_error("the scaler's clip is invalid").expected("a finite number that is at least 0");
}

} // namespace

const char* to_string(Scaler::Kind kind) noexcept {
    for (const auto& [known, word] : kinds)
        if (known == kind)
            return word;
    return "unknown";
}

Scaler::Kind scaler_kind_from_string(const std::string& word) {
    for (const auto& [kind, known] : kinds)
        if (word == known)
            return kind;
    throw usage_error(fmt::format("there is no scaler \"{}\"", word)).expected("robust, standard or none");
}

void to_json(nlohmann::json& json, const Scaler& scaler) {
    json = {{"kind", to_string(scaler.kind)}, {"clip", scaler.clip},     {"rows", scaler.rows},
            {"features", scaler.features},    {"center", scaler.center}, {"scale", scaler.scale}};
}

void from_json(const nlohmann::json& json, Scaler& scaler) {
    Scaler read;
    try {
        read.kind = scaler_kind_from_string(json.at("kind").get<std::string>());
        if (!json.at("clip").is_number())
            throw usage_error("the scaler's clip is invalid").expected("a finite number that is at least 0");
        read.clip = json.at("clip").get<double>();
        read.rows = read_count(json.at("rows"));
        read.features = json.at("features").get<std::vector<std::string>>();
        // Early versions wrote the key with British spelling.
        read.center = read_numbers(json, json.contains("centre") ? "centre" : "center"); // codespell:ignore
        read.scale = read_numbers(json, "scale");
    } catch (const nlohmann::json::exception& exception) {
        throw usage_error(fmt::format("the scaler cannot be read: {}", exception.what()))
            .expected("an object with kind, clip, rows, features, center and scale");
    }
    check(read);
    scaler = std::move(read);
}

} // namespace rekindle::market
