#pragma once
/// The parts of the table of session features, one function per group.

#include <rekindle/market/features.h>

#include <vector>

namespace rekindle::market {

void append_session_group(std::vector<SessionFeature>& table);
void append_vix_group(std::vector<SessionFeature>& table);
void append_returns_group(std::vector<SessionFeature>& table);
void append_gap_group(std::vector<SessionFeature>& table);
void append_calendar_group(std::vector<SessionFeature>& table);
void append_naked_poc_group(std::vector<SessionFeature>& table);

} // namespace rekindle::market
