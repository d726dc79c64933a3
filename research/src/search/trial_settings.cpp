#include "search/search_job.h"

#include <rekindle/foundation/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace rekindle::research {

std::vector<Dimension> dimensions_of(const SearchRules& rules) {
    if (rules.vary.empty())
        throw usage_error("no setting varies")
            .expected("--vary NAME=VALUES, once for each setting")
            .hint("For example: --vary learning-rate=1e-4..1e-2@log --vary dropout-rate=0|0.2|0.4");
    std::vector<Dimension> dimensions;
    for (const std::string& text : rules.vary) {
        dimensions.push_back(parse_dimension(text));
        for (std::size_t d = 0; d + 1 < dimensions.size(); ++d)
            if (dimensions[d].key == dimensions.back().key)
                throw usage_error(fmt::format("{} varies twice", dimensions.back().key)).at("--vary");
        if (rules.method == SearchMethod::halving && dimensions.back().key == "epochs")
            throw usage_error("halving decides the epochs itself")
                .at("--vary epochs")
                .hint("Set --min-epochs for its first rung and --epochs for its last rung.");
    }
    return dimensions;
}

std::uint64_t trials_of(const SearchRules& rules, const SearchPoints& points) {
    if (points.count() == 0)
        return rules.trials;
    const bool whole_grid = rules.method == SearchMethod::grid && !rules.trials_given;
    return whole_grid ? points.count() : std::min(rules.trials, points.count());
}

nlohmann::ordered_json settings_of(const std::vector<Dimension>& dimensions, const SearchPoint& point) {
    auto settings = nlohmann::ordered_json::object();
    for (std::size_t d = 0; d < dimensions.size(); ++d)
        settings[dimensions[d].key] = point[d];
    return settings;
}

} // namespace rekindle::research
