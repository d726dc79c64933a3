#pragma once
/// The settings of a run as Python passes them: JSON text with the keys of the settings table.

#include <rekindle/trainer/config.h>

#include <nanobind/nanobind.h>
#include <set>
#include <string>
#include <string_view>

namespace rekindle::python {

/// A configuration and the keys that the user set.
struct Settings {
    trainer::TrainConfig config;
    std::set<std::string> given;
};

/// `base` with the settings in `json`, applied as `rekindle COMMAND` would: with the zone and hours of the
/// instrument, and with raw labels for the original system's rules. Throws Error (usage) for an unknown key,
/// a wrong value, or settings that exclude each other.
Settings with_settings(Settings base, const std::string& json, std::string_view command);

void bind_settings(nanobind::module_& module);

} // namespace rekindle::python
