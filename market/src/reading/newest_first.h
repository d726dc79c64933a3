#pragma once
/// Reads files whose rows run from newest to oldest.

#include "reading/collector.h"
#include "reading/row_parser.h"
#include "reading/text_source.h"

#include <rekindle/base/thread_pool.h>

#include <cstddef>
#include <functional>

namespace rekindle::market::reading {

/// Parses the whole file and passes its rows to the collector from last to first, so that they arrive from
/// oldest to newest. The text and rows of the file are kept in memory meanwhile. `report_progress` is called
/// after each piece of about `piece_size` bytes.
void read_newest_first(TextSource& source, const RowParser& parser, std::size_t piece_size, ThreadPool& pool,
                       BarCollector& collector, const std::function<void()>& report_progress);

} // namespace rekindle::market::reading
