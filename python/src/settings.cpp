#include "settings.h"

#include <rekindle/foundation/error.h>
#include <rekindle/trainer/combinations.h>
#include <rekindle/trainer/market_data.h>
#include <rekindle/trainer/settings.h>

#include <nlohmann/json.hpp>

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

namespace rekindle::python {

namespace nb = nanobind;

const char* name_of(trainer::ValueKind kind) {
    using trainer::ValueKind;
    switch (kind) {
    case ValueKind::flag:
        return "flag";
    case ValueKind::word:
        return "word";
    case ValueKind::word_list:
        return "word_list";
    case ValueKind::integer:
        return "integer";
    case ValueKind::integer_list:
        return "integer_list";
    case ValueKind::number:
        return "number";
    case ValueKind::path:
        return "path";
    case ValueKind::path_list:
        return "path_list";
    case ValueKind::text_list:
        return "text_list";
    default:
        return "text";
    }
}

namespace {

/// The whole table, with defaults as JSON.
nb::list table() {
    nlohmann::ordered_json defaults;
    trainer::to_json(defaults, trainer::TrainConfig{});
    nb::list rows;
    for (const trainer::Setting& setting : trainer::settings()) {
        nb::dict row;
        row["name"] = setting.key();
        row["kind"] = name_of(setting.kind());
        row["default"] = defaults[setting.key()].dump();
        row["words"] = setting.words();
        row["group"] = setting.group;
        row["brief"] = setting.brief;
        row["detail"] = setting.detail;
        row["commands"] = setting.commands;
        rows.append(row);
    }
    return rows;
}

} // namespace

Settings with_settings(Settings base, const std::string& json, std::string_view command) {
    const auto settings = nlohmann::ordered_json::parse(json);
    trainer::update_from_json(settings, base.config);
    for (const auto& item : settings.items())
        base.chosen.insert(item.key());
    base.given.insert(base.chosen.begin(), base.chosen.end());
    trainer::TrainConfig& config = base.config;
    if (config.compat == trainer::Compat::original && !base.given.contains("clock"))
        config.clock = market::Clock::raw;
    trainer::check_combinations(command, config, base.chosen);
    const bool several = config.several_instruments != trainer::SeveralInstruments::no;
    if (!several && (config.instrument == "each" || config.instrument.find('=') != std::string::npos))
        throw usage_error("there is only one instrument")
            .at("--instrument")
            .expected("one symbol, or --several-instruments with it");
    if (config.instrument == "auto")
        config.instrument = "none"; // so that reading and training form the same sessions
    trainer::apply_instrument(config, base.given);
    return base;
}

void bind_settings(nb::module_& module) {
    module.def("settings", &table);
}

} // namespace rekindle::python
