#pragma once
/// The volume of a row.

#include "reading/row_parser.h"
#include "reading/row_problem.h"

namespace rekindle::market::reading {

/// Reads the volumes of rows, and counts in the block what was unusual about them.
class VolumeFields {
  public:
    /// Both must outlive the object.
    VolumeFields(const RowParser::Settings& settings, ParsedBlock& block)
        : settings_(settings), columns_(settings.layout.columns), block_(block) {}

    /// In units of 10^-volume_decimals. Leaves `volume` as it is if the file has none. False if the row
    /// cannot be used; `problem` then says why.
    bool parse(Fields fields, std::int64_t& volume, Problem& problem);

  private:
    bool scale_volume(const Decimal& value, std::size_t position, Fields fields, std::int64_t& volume,
                      Problem& problem);

    const RowParser::Settings& settings_;
    const ColumnMap& columns_;
    ParsedBlock& block_;
};

} // namespace rekindle::market::reading
