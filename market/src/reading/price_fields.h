#pragma once
/// The four prices of a row.

#include "reading/row_parser.h"
#include "reading/row_problem.h"

#include <array>
#include <optional>

namespace rekindle::market::reading {

/// Open, high, low and close.
using BarPrices = std::array<Ticks, 4>;

/// Reads and checks the prices of rows, and counts in the block what was unusual about them.
class PriceFields {
  public:
    /// Both must outlive the object.
    PriceFields(const RowParser::Settings& settings, ParsedBlock& block)
        : settings_(settings), columns_(settings.layout.columns), block_(block) {}

    /// Returns false if the row cannot be used; `problem` then says why.
    bool parse(Fields fields, BarPrices& prices, Problem& problem);
    /// Appends the four prices unless one of them is 0.
    void collect(Fields fields, std::vector<Decimal>& prices) const;

  private:
    using Decimals = std::array<Decimal, 4>;

    std::optional<Decimal> price_of(std::string_view text) const;
    bool check_signs(Fields fields, const Decimals& values, Problem& problem);
    bool convert_prices(Fields fields, const Decimals& values, BarPrices& prices, Problem& problem);
    static void widen_range(BarPrices& prices);
    std::string expected_price() const;
    bool check_range(Fields fields, const BarPrices& prices, Problem& problem) const;

    const RowParser::Settings& settings_;
    const ColumnMap& columns_;
    ParsedBlock& block_;
};

} // namespace rekindle::market::reading
