#include "reading/contract_filter.h"
#include "reading/input_files.h"
#include "reading/row_parser.h"

#include <rekindle/base/hash.h>
#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/contract_identity.h>
#include <rekindle/market/find_instruments.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

namespace rekindle::market {

namespace {

using reading::InputFile;
using reading::RowParser;

std::string upper(std::string text) {
    for (char& c : text)
        c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return text;
}

/// The instrument that a contract belongs to.
std::string instrument_of_contract(const std::string& contract, InstrumentsBy by) {
    if (by == InstrumentsBy::name)
        return std::string(trim(contract));
    const ContractIdentity identity = identify_contract(contract);
    const bool continuous = contract.find_first_of("!#") != std::string::npos; // ES1!, ES2!, @ES#
    return identity.has_month || continuous ? identity.instrument : identity.instrument + identity.number;
}

/// The names in the file's contract column.
std::set<std::string> contracts_in(const InputFile& file, ThreadPool& pool, const CancellationToken& cancel) {
    constexpr std::size_t piece_size = 4 << 20;
    const RowParser parser(
        {.layout = file.layout, .tick = reading::TickConverter(TickSize{1}), .contract_filter = {}});
    Hasher unused;
    const auto source = reading::open_input(file, unused, file.layout.columns.used());
    std::set<std::string> names;
    std::vector<std::vector<std::string>> found;
    std::size_t before_rows = file.layout.data_offset;
    for (std::string_view text = source->next(piece_size); !text.empty(); text = source->next(piece_size)) {
        if (cancel.requested())
            throw Error("interrupted while reading bars", ExitStatus::interrupted);
        const std::size_t skip = std::min(before_rows, text.size());
        before_rows -= skip;
        const auto parts = reading::split_blocks(text.substr(skip));
        found.assign(parts.size(), {});
        pool.for_each(parts.size(), [&](std::size_t i) { found[i] = parser.contracts_in(parts[i]); });
        for (const auto& block : found)
            names.insert(block.begin(), block.end());
    }
    return names;
}

/// Collects the instruments of one file after another.
class Instruments {
  public:
    Instruments(const ReadOptions& options, InstrumentsBy by) : filter_(options.contract, {}), by_(by) {}

    void add_contract(const std::string& contract, const InputFile& file) {
        if (!filter_.accepts(contract)) {
            others_.insert(contract);
            return;
        }
        InstrumentFiles& instrument = at(instrument_of_contract(contract, by_), file);
        if (std::ranges::find(instrument.contracts, contract) == instrument.contracts.end())
            instrument.contracts.push_back(contract);
    }

    void add_nameless(const InputFile& file) {
        const std::string words = instrument_words(file.path);
        if (words.empty())
            throw usage_error("neither the bars nor the name of this file say which instrument it holds")
                .at(file.path.string())
                .expected("a column such as symbol, or a name such as AAPL.csv")
                .hint("Name the file after its instrument, or name its column with --columns contract=….");
        const std::string name = upper(words);
        if (filter_.accepts(name))
            at(name, file);
        else
            others_.insert(name);
    }

    std::vector<InstrumentFiles> take(const std::string& asked) {
        if (by_name_.empty())
            throw usage_error(fmt::format("no contract begins with \"{}\"", asked))
                .at("--contract")
                .expected(fmt::format("the beginning of one of: {}", fmt::join(others_, ", ")));
        std::vector<InstrumentFiles> instruments;
        for (auto& [name, instrument] : by_name_)
            instruments.push_back(std::move(instrument));
        return instruments;
    }

  private:
    InstrumentFiles& at(const std::string& name, const InputFile& file) {
        InstrumentFiles& instrument = by_name_[name];
        instrument.name = name;
        if (std::ranges::find(instrument.files, file.path) == instrument.files.end())
            instrument.files.push_back(file.path);
        return instrument;
    }

    reading::ContractFilter filter_;
    InstrumentsBy by_;
    std::map<std::string, InstrumentFiles> by_name_;
    std::set<std::string> others_; ///< contracts that the filter does not accept
};

} // namespace

ReadOptions InstrumentFiles::options(ReadOptions all) const {
    all.paths = files;
    all.exact_contracts = contracts;
    all.contract = "all"; // exact_contracts already selects
    return all;
}

std::vector<InstrumentFiles> find_instruments(const ReadOptions& options, InstrumentsBy by, ThreadPool& pool,
                                              const CancellationToken& cancel) {
    std::vector<std::filesystem::path> not_read;
    std::vector<reading::Decimal> prices;
    const auto files =
        reading::inspect_files(reading::expand_paths(options.paths, not_read), options, prices);
    Instruments instruments(options, by);
    for (const InputFile& file : files) {
        if (file.layout.columns.contract != reading::no_column)
            for (const std::string& contract : contracts_in(file, pool, cancel))
                instruments.add_contract(contract, file);
        else if (!file.layout.contract.empty())
            instruments.add_contract(file.layout.contract, file);
        else
            instruments.add_nameless(file);
    }
    return instruments.take(options.contract);
}

} // namespace rekindle::market
