#pragma once
/// Files whose rows run from new to old.

#include "reading/collector.h"
#include "reading/row_parser.h"
#include "reading/text_source.h"

#include <rekindle/base/thread_pool.h>

#include <cstddef>
#include <functional>

namespace rekindle::market::reading {

/// Parses the whole file and gives its rows to the collector from the last to the first, so that they come
/// from old to new. The file's text and rows lie in memory meanwhile. `went_on` is called after each piece of
/// about `piece_size` bytes.
void read_newest_first(TextSource& source, const RowParser& parser, std::size_t piece_size, ThreadPool& pool,
                       BarCollector& collector, const std::function<void()>& went_on);

} // namespace rekindle::market::reading
