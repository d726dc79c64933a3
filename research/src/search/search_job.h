#pragma once
/// Types that the training and the report of a search share.

#include "search/judgment.h"
#include "search/trial_score.h"

#include <rekindle/research/fold_data.h>
#include <rekindle/research/search.h>
#include <rekindle/research/walk_forward.h>
#include <rekindle/trainer/market_data.h>
#include <rekindle/trainer/report.h>
#include <rekindle/trainer/run_folder.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rekindle::research {

inline constexpr trainer::RunKind search_run{"search_", "search.json", "search folder"};

/// The contents of search.json, which identify a search and let it continue.
struct StoredSearch {
    trainer::TrainConfig config;
    SearchRules rules;
    std::string data_hash; ///< of the bars
};
/// The text of search.json.
std::string text_of(const StoredSearch& search);
/// Throws Error (usage) that names `where` and the mistake.
StoredSearch parse_search(const std::string& text, const std::string& where);

/// The settings that vary. Throws Error (usage) if none does, one varies twice, or one must not vary.
std::vector<Dimension> dimensions_of(const SearchRules& rules);
/// The number of points to try.
std::uint64_t trials_of(const SearchRules& rules, const SearchPoints& points);
/// The settings of a point.
nlohmann::ordered_json settings_of(const std::vector<Dimension>& dimensions, const SearchPoint& point);

/// The rows and folds that all trials with the same features, scaling, target and window share.
struct TrialData {
    ForecastRows rows;
    FoldPlan plan;
    FoldBlock block;
    TestRows scored;
    std::vector<std::int64_t> instants; ///< per value of Trial::timing: known_at of its rows

    std::size_t bytes() const noexcept;
};

/// The configuration of a trial. Halving passes the epochs of its rung.
trainer::TrainConfig config_of(const StoredSearch& search, const nlohmann::ordered_json& settings,
                               std::optional<std::int64_t> epochs);
/// The windows of a trial.
WalkForwardRules rules_of(const StoredSearch& search, const nlohmann::ordered_json& settings);
/// The settings with these names, as text that is equal only for equal values. Settings that a search does
/// not vary are not among a trial's settings.
std::string chosen_values(const nlohmann::ordered_json& settings, std::span<const std::string_view> names);
/// Identifies a trial's data: trials of one search with the same key share one TrialData.
std::string data_key(const nlohmann::ordered_json& settings);

/// Creates data when a trial first needs it, and keeps what was used last. Not thread-safe.
class TrialDataCache {
  public:
    TrialDataCache(const StoredSearch& search, std::span<const trainer::MarketData> markets, ThreadPool& pool,
                   trainer::ProgressSink& progress)
        : search_(search), markets_(markets), pool_(pool), progress_(progress) {}

    /// Throws Error (usage) if these settings leave too few rows.
    std::shared_ptr<const TrialData> get(const nlohmann::ordered_json& settings);
    /// TrialData::instants with these settings. The span is valid as long as the cache.
    std::span<const std::int64_t> instants(const nlohmann::ordered_json& settings);

  private:
    const StoredSearch& search_;
    std::span<const trainer::MarketData> markets_;
    ThreadPool& pool_;
    trainer::ProgressSink& progress_;
    std::map<std::string, std::shared_ptr<const TrialData>> kept_;
    std::map<std::string, std::vector<std::int64_t>> instants_;
};

/// All settings as text, such as "learning-rate 0.001, hidden-layers 32,16".
std::string settings_text(const nlohmann::ordered_json& settings);
/// The text of one value, such as "32,16".
std::string value_text(const nlohmann::ordered_json& value);

/// The result of a search.
struct SearchResult {
    const StoredSearch& search;
    Objective objective;              ///< loss or timing
    const std::vector<Trial>& trials; ///< one per setting, in the order of trial numbers
    std::optional<std::size_t> best;
    SearchJudgment judgment;
    trainer::TargetMeaning meaning; ///< of the best trial
    std::span<const trainer::MarketData> markets;
    std::size_t folds = 0;
    double seconds = 0;
    std::vector<std::string> notes;
};

/// The arguments with which walk-forward repeats the best trial: "--config", FOLDER/best.json, and the
/// windows.
std::vector<std::string> walk_forward_arguments(const SearchResult& result,
                                                const std::filesystem::path& folder);

/// Writes trials.csv, best.json, results.json and report.html, and fills in the outcome.
void finish(const std::filesystem::path& folder, const SearchResult& result, SearchOutcome& outcome);
trainer::ReportData report_of(const SearchResult& result, const std::filesystem::path& folder);

} // namespace rekindle::research
