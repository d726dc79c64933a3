#pragma once
/// Synthetic input and golden files of the feature tests.

#include <rekindle/market/bars.h>
#include <rekindle/market/feature_matrix.h>
#include <rekindle/market/session.h>
#include <rekindle/market/session_summary.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace rekindle::market::testing {

/// A CSV file of numbers with a line of names.
struct NumberTable {
    std::vector<std::string> names;
    std::vector<std::vector<double>> rows;
};

NumberTable read_numbers(const std::filesystem::path& path);
std::filesystem::path golden_folder();

struct BarsAndSessions {
    BarTable bars;
    std::vector<Session> sessions;
};

/// The sessions of sessions.csv; mixed: with all roll offsets 0, as if there were one contract.
std::vector<SessionSummary> golden_sessions(bool mixed = false);

/// Names, rows (column "row" is FeatureMatrix::source) and values, within 1e-9 relative.
void expect_equals_golden(const FeatureMatrix& matrix, const std::string& file);

/// The bars of bars.csv, one contract index per roll.
BarsAndSessions golden_bars();

/// Plausible sessions with rolls, gaps and a VIX, the same for the same seed.
std::vector<SessionSummary> random_sessions(std::size_t count, std::uint64_t seed);

/// One-minute bars with their sessions: two contracts that overlap, a roll, bars outside of sessions, and a
/// VIX.
BarsAndSessions random_bars(std::size_t sessions, std::size_t bars_per_session, std::uint64_t seed,
                            bool with_vix = true);

/// Bitwise, names, stamps and sources too.
bool identical(const FeatureMatrix& a, const FeatureMatrix& b);

} // namespace rekindle::market::testing
