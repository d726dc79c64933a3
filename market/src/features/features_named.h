#pragma once
/// Chooses features of a table by name.

#include <rekindle/foundation/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::market {

/// The features of these names, in this order. Throws Error (usage) for a name that the table does not have;
/// `kind` is "bar" or "session".
template <class Feature>
std::vector<Feature> features_named(std::span<const Feature> table, std::span<const std::string> names,
                                    std::string_view kind) {
    std::vector<Feature> features;
    for (const std::string& name : names) {
        const auto found =
            std::find_if(table.begin(), table.end(), [&](const Feature& f) { return f.info.name == name; });
        if (found == table.end())
            throw usage_error(fmt::format("there is no {} feature named \"{}\"", kind, name))
                .hint("docs/features/ lists the names.");
        features.push_back(*found);
    }
    return features;
}

} // namespace rekindle::market
