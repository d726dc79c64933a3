#pragma once
/// Synthetic input and golden files for the feature tests.

#include <rekindle/market/bars.h>
#include <rekindle/market/feature_matrix.h>
#include <rekindle/market/session.h>
#include <rekindle/market/session_summary.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace rekindle::market::fixtures {

/// A CSV file of numbers with a header line.
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

/// The tick of the E-mini futures, as in the golden files.
constexpr TickSize golden_tick{0.25};

/// The summaries in sessions.csv; if mixed, all roll offsets are 0, as if there were one contract.
std::vector<SessionSummary> golden_summaries(bool mixed = false);

/// Compares names, rows (column "row" is FeatureMatrix::source) and values, with a relative tolerance of
/// 1e-9.
void expect_equals_golden(const FeatureMatrix& matrix, const std::string& file);

/// The bars in bars.csv, with a new contract index after each roll.
BarsAndSessions golden_bars();

/// Plausible summaries with rolls, gaps and a VIX; the same seed gives the same summaries.
std::vector<SessionSummary> random_summaries(std::size_t count, std::uint64_t seed);

/// One-minute bars with their sessions: two contracts that overlap, a roll, bars outside of sessions, and a
/// VIX.
BarsAndSessions random_bars_and_sessions(std::size_t sessions, std::size_t bars_per_session,
                                         std::uint64_t seed, bool with_vix = true);

/// Whether names, timestamps, sources and the bits of all values are equal.
bool identical(const FeatureMatrix& a, const FeatureMatrix& b);

} // namespace rekindle::market::fixtures
