#pragma once
/// The parts of the table of session features, one function per group.

#include <rekindle/market/features.h>

#include <array>
#include <cstddef>
#include <vector>

namespace rekindle::market {

/// The windows of the session features, in sessions.
inline constexpr std::array<std::size_t, 4> periods{5, 10, 20, 50};

void append_session_group(std::vector<SessionFeature>& table);
void append_vix_group(std::vector<SessionFeature>& table);
void append_returns_group(std::vector<SessionFeature>& table);
void append_gap_group(std::vector<SessionFeature>& table);
void append_calendar_group(std::vector<SessionFeature>& table);
void append_naked_poc_group(std::vector<SessionFeature>& table);
void append_delta_group(std::vector<SessionFeature>& table);

} // namespace rekindle::market
