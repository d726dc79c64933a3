#pragma once
/// The options of walk-forward, search and backtest that are not settings of a run: windows, trials, costs …

#include "settings.h"

#include <rekindle/cli/command_line.h>

#include <nanobind/nanobind.h>
#include <string>
#include <string_view>

namespace rekindle::python {

/// A command line with the options in `rules` (JSON text: option keys and values), checked against the
/// program's option table, both alone and combined with the settings. Throws Error (usage) like the program.
cli::CommandLine command_line(std::string_view command, const Settings& settings, const std::string& rules);
/// The configuration of these settings.
cli::EffectiveConfig effective(const Settings& settings);

void bind_rules(nanobind::module_& module);

} // namespace rekindle::python
