#pragma once
/// What the best of many trials is worth.

#include <rekindle/research/search.h>
#include <rekindle/trainer/scores.h>

#include <cstdint>
#include <span>
#include <vector>

namespace rekindle::research {

/// The trials that count, one for each setting: its last one, with the most epochs. In the order of numbers.
std::vector<Trial> last_trials(std::vector<Trial> trials);

/// The index of the best trial; only trials with the most epochs of all can be chosen. No value if all
/// diverged.
std::optional<std::size_t> best_of(std::span<const Trial> trials, Objective objective);

/// Judges trials[chosen] among all. `rows[t]` are the instants of the scored rows of trial t, ascending:
/// trials with different rows are compared on those that all have. `overlap`: rows that a target looks ahead.
SearchJudgment judge(std::span<const Trial> trials, std::size_t chosen,
                     std::span<const std::span<const std::int64_t>> rows, std::size_t overlap,
                     std::uint64_t seed);

/// An edge needs a chosen setting that is better than none after adjusting for all that were tried (p at most
/// 5 %).
trainer::Verdict verdict_of(const SearchJudgment& judgment);
bool has_edge(const SearchJudgment& judgment);

} // namespace rekindle::research
