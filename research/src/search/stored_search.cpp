#include "search/search_job.h"
#include "walk_forward/run_store.h"

#include <rekindle/foundation/error.h>
#include <rekindle/trainer/settings.h>

#include <fmt/format.h>

#include <array>
#include <utility>

namespace rekindle::research {

namespace {

using Json = nlohmann::ordered_json;

constexpr int search_format = 1;

template <class T>
using Names = std::pair<T, const char*>;
constexpr std::array<Names<SearchMethod>, 4> methods{{{SearchMethod::grid, "grid"},
                                                      {SearchMethod::random, "random"},
                                                      {SearchMethod::sobol, "sobol"},
                                                      {SearchMethod::halving, "halving"}}};
constexpr std::array<Names<Objective>, 3> objectives{
    {{Objective::automatic, "auto"}, {Objective::loss, "loss"}, {Objective::timing, "timing"}}};

template <class Table, class T>
const char* name_in(const Table& table, T value) {
    for (const auto& [one, name] : table)
        if (one == value)
            return name;
    return "";
}

template <class Table>
auto named_in(const Table& table, const std::string& name) {
    for (const auto& [one, own] : table)
        if (own == name)
            return one;
    throw usage_error(fmt::format("this version does not know \"{}\"", name));
}

} // namespace

SearchMethod search_method_from_string(const std::string& name) {
    return named_in(methods, name);
}

Objective objective_from_string(const std::string& name) {
    return named_in(objectives, name);
}

std::string text_of(const StoredSearch& search) {
    Json config;
    to_json(config, search.config);
    const SearchRules& rules = search.rules;
    const Json json{{"format", search_format},
                    {"vary", rules.vary},
                    {"method", name_in(methods, rules.method)},
                    {"trials", rules.trials},
                    {"trials_given", rules.trials_given},
                    {"min_epochs", rules.min_epochs},
                    {"reduction", rules.reduction},
                    {"objective", name_in(objectives, rules.objective)},
                    {"folds", rules_json(rules.folds)},
                    {"data_hash", search.data_hash},
                    {"config", config}};
    return json.dump(2) + "\n";
}

StoredSearch parse_search(const std::string& text, const std::string& where) {
    StoredSearch search;
    try {
        const Json json = Json::parse(text);
        if (json.at("format").get<int>() != search_format)
            throw usage_error(fmt::format("the search has format {}", json.at("format").dump()))
                .expected(std::to_string(search_format));
        json.at("vary").get_to(search.rules.vary);
        search.rules.method = search_method_from_string(json.at("method"));
        search.rules.trials = json.at("trials");
        search.rules.trials_given = json.at("trials_given");
        search.rules.min_epochs = json.at("min_epochs");
        search.rules.reduction = json.at("reduction");
        search.rules.objective = objective_from_string(json.at("objective"));
        search.rules.folds = rules_of(json.at("folds"));
        search.data_hash = json.at("data_hash");
        trainer::update_from_json(json.at("config"), search.config);
    } catch (const nlohmann::json::exception& error) {
        throw usage_error(fmt::format("the search cannot be read: {}", error.what())).at(where);
    } catch (Error& error) {
        throw error.at(where);
    }
    return search;
}

} // namespace rekindle::research
