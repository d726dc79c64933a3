#pragma once
/// Finds the instruments that files of bars hold.

#include <rekindle/base/cancellation.h>
#include <rekindle/base/thread_pool.h>
#include <rekindle/market/read_bars.h>

#include <filesystem>
#include <string>
#include <vector>

namespace rekindle::market {

/// Which contracts belong to one instrument.
enum class InstrumentsBy {
    root, ///< ESH5 and ESM5 are contracts of ES; a name without a delivery month is an instrument
    name, ///< every name is an instrument
};

/// The part of the files that holds one instrument.
struct InstrumentFiles {
    std::string name;                         ///< "ES", "AAPL"; in upper case with InstrumentsBy::root
    std::vector<std::filesystem::path> files; ///< the files that hold its bars, in the order given
    std::vector<std::string> contracts;       ///< its contracts in these files; empty if the bars name none

    /// Returns `all`, restricted to this instrument.
    ReadOptions options(ReadOptions all) const;
};

/// Finds the instruments in the files of `options`, ordered by name. The name of a contract comes from the
/// contract column, otherwise from the file name. Files whose bars name no contract belong to one instrument
/// if their names agree by the rules of read_bars(); options.contract then selects among the names of the
/// instruments. Reads every file that has a contract column once. Throws Error:
///   usage        a file cannot be read as bars; neither its bars nor its name say which instrument
///                it holds; or no contract begins with options.contract
///   interrupted  the token was set
std::vector<InstrumentFiles> find_instruments(const ReadOptions& options, InstrumentsBy by, ThreadPool& pool,
                                              const CancellationToken& cancel);

} // namespace rekindle::market
