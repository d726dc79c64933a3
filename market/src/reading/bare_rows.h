#pragma once
/// Recognizes the columns of files without a header.

#include "reading/format.h"

#include <optional>

namespace rekindle::market::reading {

/// Returns the columns if every line holds a time (in one field or two), four prices, a volume and possibly
/// more numbers, in this order. In every line, the second price must be the highest and the third the lowest;
/// in at least one line, these two must differ. Otherwise returns nothing.
std::optional<ColumnMap> find_bare_columns(const FileHead& head, char delimiter);

} // namespace rekindle::market::reading
