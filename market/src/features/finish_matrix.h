#pragma once
#include <rekindle/market/feature_matrix.h>

namespace rekindle::market {

/// Leaves out the rows that hold a value which is not finite, counts them and notes which features caused it.
/// `row_noun` is "session" or "bar". Throws Error (usage) when no row remains.
void drop_incomplete_rows(FeatureMatrix& matrix, const char* row_noun, const Workspace& workspace = {});

} // namespace rekindle::market
