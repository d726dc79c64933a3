#pragma once
/// The volumes of a row.

#include "reading/row_parser.h"
#include "reading/row_problem.h"

namespace rekindle::market::reading {

/// In units of 10^-volume_decimals.
struct BarVolumes {
    std::int64_t total = 0;
    std::int64_t bid = 0;
    std::int64_t ask = 0;
};

/// Reads the volumes of rows, and counts in the block what was unusual about them.
class VolumeFields {
  public:
    /// Both must outlive the object.
    VolumeFields(const RowParser::Settings& settings, ParsedBlock& block)
        : settings_(settings), columns_(settings.layout.columns), block_(block) {}

    /// Leaves the volumes that the file lacks unchanged. Returns false if the row cannot be used; `problem`
    /// then says why.
    bool parse(Fields fields, BarVolumes& volumes, Problem& problem);

  private:
    bool parse_one(Fields fields, int column, std::string_view name, std::int64_t& volume, Problem& problem);
    bool scale_volume(const Decimal& value, std::size_t position, Fields fields, std::int64_t& volume,
                      Problem& problem);

    const RowParser::Settings& settings_;
    const ColumnMap& columns_;
    ParsedBlock& block_;
};

} // namespace rekindle::market::reading
