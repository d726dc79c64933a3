#pragma once
/// Judges the best of many trials, given how many there were.

#include <rekindle/base/thread_pool.h>
#include <rekindle/research/search.h>
#include <rekindle/trainer/scores.h>

#include <cstdint>
#include <span>
#include <vector>

namespace rekindle::research {

/// The trial with the most epochs of each setting, in the order of trial numbers.
std::vector<Trial> last_trials(std::vector<Trial> trials);

/// The index of the best among the trials with the most epochs; no value if all of them diverged.
std::optional<std::size_t> best_of(std::span<const Trial> trials, Objective objective);

/// Judges trials[chosen] against all trials. `rows[t]` holds the instants of the scored rows of trial t in
/// ascending order; trials are compared on the rows that all have in common. `overlap` is the number of rows
/// that a target looks ahead. The judgment does not depend on the number of threads.
SearchJudgment judge(std::span<const Trial> trials, std::size_t chosen,
                     std::span<const std::span<const std::int64_t>> rows, std::size_t overlap,
                     std::uint64_t seed, ThreadPool& pool);

/// The chosen setting has an edge if its p-value, adjusted for all settings that were tried, is at most 5 %.
trainer::Verdict verdict_of(const SearchJudgment& judgment);
bool has_edge(const SearchJudgment& judgment);

} // namespace rekindle::research
