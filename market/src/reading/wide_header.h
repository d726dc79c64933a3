#pragma once
/// Headers of two or three lines, as yfinance writes them: column names, tickers, and the name of the time
/// column.

#include "reading/format.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::market::reading {

struct WideHeader {
    std::vector<std::string> names; ///< of the columns; those of other tickers are followed by the ticker
    std::string ticker;             ///< whose columns have plain names
    std::size_t lines = 0;          ///< of the header
};

/// Empty if the file does not begin with such a header. Throws Error (usage) if there are several tickers and
/// `contract` is none of them.
std::optional<WideHeader> read_wide_header(const FileHead& head, char delimiter, std::string_view contract);

} // namespace rekindle::market::reading
