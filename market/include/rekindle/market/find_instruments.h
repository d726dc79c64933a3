#pragma once
/// Which instruments files of bars hold.

#include <rekindle/base/cancellation.h>
#include <rekindle/base/thread_pool.h>
#include <rekindle/market/read_bars.h>

#include <filesystem>
#include <string>
#include <vector>

namespace rekindle::market {

/// What makes contracts one instrument.
enum class InstrumentsBy {
    root, ///< ESH5 and ESM5 are contracts of ES; a name without a delivery month is an instrument
    name, ///< every name is an instrument
};

/// The part of the files that holds one instrument.
struct InstrumentFiles {
    std::string name;                         ///< "ES", "AAPL"; in upper case unless by name
    std::vector<std::filesystem::path> files; ///< with bars of it, in the order given
    std::vector<std::string> contracts;       ///< its contracts in the files; empty if they name none

    /// The options that read this instrument alone.
    ReadOptions options(ReadOptions all) const;
};

/// The instruments in the files of `options`, ordered by name. Names come from the column with contracts,
/// else from the name of the file; files whose bars name no contract are the same instrument if their names
/// agree as for read_bars(), and options.contract chooses among the names of their instruments. Reads every
/// file with such a column once. Throws Error:
///   usage        a file cannot be read as bars, or neither its bars nor its name say which instrument it
///                holds; no contract begins with options.contract
///   interrupted  the token was set
std::vector<InstrumentFiles> find_instruments(const ReadOptions& options, InstrumentsBy by, ThreadPool& pool,
                                              const CancellationToken& cancel);

} // namespace rekindle::market
