#pragma once
/// The settings of a run as Python passes them: JSON text with the keys of the settings table.

#include <rekindle/trainer/config.h>
#include <rekindle/trainer/setting.h>

#include <nanobind/nanobind.h>
#include <set>
#include <string>
#include <string_view>

namespace rekindle::python {

/// A configuration.
struct Settings {
    trainer::TrainConfig config;
    std::set<std::string> given;  ///< keys that the user or the instrument set
    std::set<std::string> chosen; ///< keys that the user set
};

/// `base` with the settings in `json`, applied as `rekindle COMMAND` would: with the zone and hours of the
/// instrument, and with raw labels for the original system's rules. Throws Error (usage) for an unknown key,
/// a wrong value, or settings that exclude each other.
Settings with_settings(Settings base, const std::string& json, std::string_view command);

/// The kind of a setting's or an option's values, as Python knows it: "word", "integer_list" …
const char* name_of(trainer::ValueKind kind);

void bind_settings(nanobind::module_& module);

} // namespace rekindle::python
