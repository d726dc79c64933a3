#pragma once
/// The parts of the table of session features, one function per group.

#include <rekindle/market/features.h>

#include <vector>

namespace rekindle::market {

void append_session_group(std::vector<SessionFeature>& table);

} // namespace rekindle::market
