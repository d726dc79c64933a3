#pragma once
/// The columns of files without a header.

#include "reading/format.h"

#include <optional>

namespace rekindle::market::reading {

/// The columns if the lines hold a time (in one field or two), four prices, a volume, and perhaps more
/// numbers, in this order. In each line the second price must be the highest and the third the lowest, and in
/// one of them the two must differ; otherwise empty.
std::optional<ColumnMap> find_bare_columns(const FileHead& head, char delimiter);

} // namespace rekindle::market::reading
