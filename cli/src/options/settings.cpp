#include "rows.h"

#include <rekindle/trainer/settings.h>

#include <algorithm>
#include <limits>

namespace rekindle::cli::rows {

namespace {

OptionSpec option_of(const trainer::Setting& setting) {
    return {.name = setting.name,
            .aliases = setting.aliases,
            .kind = setting.kind(),
            .value_name = setting.value_name,
            .words = setting.words(),
            .range = setting.range,
            .in_config = true,
            .group = setting.group,
            .brief = setting.brief,
            .detail = setting.detail,
            .example = setting.example,
            .commands = setting.commands,
            .required = setting.required,
            .not_with = setting.not_with};
}

/// The rows of each group in the order of help: those that lead, then the others.
std::vector<trainer::Setting> in_order_of_help(std::vector<trainer::Setting> settings) {
    const auto rank = [](const trainer::Setting& setting) {
        return setting.lead > 0 ? setting.lead : std::numeric_limits<int>::max();
    };
    for (auto begin = settings.begin(); begin != settings.end();) {
        const auto end = std::find_if(begin, settings.end(), [&](const trainer::Setting& setting) {
            return setting.group != begin->group;
        });
        std::stable_sort(begin, end, [&](const trainer::Setting& a, const trainer::Setting& b) {
            return rank(a) < rank(b);
        });
        begin = end;
    }
    return settings;
}

} // namespace

std::vector<OptionSpec> settings() {
    std::vector<OptionSpec> options;
    for (const trainer::Setting& setting : in_order_of_help(trainer::settings()))
        options.push_back(option_of(setting));
    return options;
}

} // namespace rekindle::cli::rows
