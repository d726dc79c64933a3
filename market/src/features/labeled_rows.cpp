#include <rekindle/foundation/error.h>
#include <rekindle/market/labeled_rows.h>

#include <fmt/format.h>

#include <algorithm>
#include <queue>

namespace rekindle::market {
namespace {

using Times = std::span<const std::int64_t>;

/// Calls visit(part, row) for the rows of all parts, in order of time, then of part.
template <class Visit>
void visit_by_time(std::span<const Times> known, std::span<const RowRange> ranges, Visit visit) {
    struct Head {
        std::int64_t time;
        std::size_t part, row;
        bool operator<(const Head& other) const {
            return time != other.time ? time > other.time : part > other.part;
        }
    };
    std::priority_queue<Head> heads;
    const auto push = [&](std::size_t part, std::size_t row) {
        if (row < ranges[part].end)
            heads.push({known[part][row], part, row});
    };
    for (std::size_t part = 0; part < known.size(); ++part)
        push(part, ranges[part].begin);
    while (!heads.empty()) {
        const Head head = heads.top();
        heads.pop();
        visit(head.part, head.row);
        push(head.part, head.row + 1);
    }
}

/// Gathers member(part) of every part at these places.
template <class T, class Part, class Member>
ScratchArray<T> gather_column(std::span<const Part> parts, std::span<const RowPlace> places,
                              std::size_t width, const Workspace& workspace, Member member) {
    std::vector<std::span<const T>> values;
    values.reserve(parts.size());
    for (const Part& part : parts)
        values.emplace_back(member(part));
    return gather<T>(places, values, width, workspace);
}

void add_counts_and_notes(FeatureMatrix& matrix, const FeatureMatrix& part) {
    matrix.dropped_first += part.dropped_first;
    matrix.dropped_later += part.dropped_later;
    for (const std::string& note : part.notes)
        if (std::find(matrix.notes.begin(), matrix.notes.end(), note) == matrix.notes.end())
            matrix.notes.push_back(note);
}

} // namespace

LabeledRows label_rows(FeatureMatrix matrix, Targets targets, const BarEnds& ends, std::size_t horizon,
                       const Workspace& workspace) {
    keep_rows_with_target(matrix, targets, workspace);
    LabeledRows rows;
    const std::size_t count = matrix.rows();
    rows.known = {count, workspace.folder};
    rows.outcome_known = {count, workspace.folder};
    rows.previous = {count, workspace.folder};
    for (std::size_t row = 0; row < count; ++row) {
        rows.known[row] = ends.of(matrix.known_at[row]);
        rows.outcome_known[row] = ends.of(targets.outcome_at[row]);
        rows.previous[row] = row >= horizon ? targets.values[row - horizon] : 0.0f;
    }
    rows.matrix = std::move(matrix);
    rows.targets = std::move(targets);
    return rows;
}

ScratchArray<RowPlace> order_by_time(std::span<const Times> known, std::span<const RowRange> ranges,
                                     const Workspace& workspace) {
    std::size_t rows = 0;
    for (const RowRange& range : ranges)
        rows += range.size();
    ScratchArray<RowPlace> places(rows, workspace.folder);
    std::size_t to = 0;
    visit_by_time(known, ranges, [&](std::size_t part, std::size_t row) {
        places[to++] = {static_cast<std::uint32_t>(part), static_cast<std::uint32_t>(row)};
    });
    return places;
}

FeatureMatrix join_matrices(std::span<const FeatureMatrix* const> parts, std::span<const RowPlace> places,
                            const Workspace& workspace) {
    FeatureMatrix joined;
    if (parts.empty())
        return joined;
    joined.names = parts.front()->names;
    for (const FeatureMatrix* part : parts) {
        if (part->names != joined.names)
            throw internal_error("instruments with different features cannot be joined");
        add_counts_and_notes(joined, *part);
    }
    using Part = const FeatureMatrix*;
    joined.values = gather_column<double>(parts, places, joined.columns(), workspace,
                                          [](Part part) { return std::span(part->values); });
    joined.known_at = gather_column<std::int64_t>(parts, places, 1, workspace,
                                                  [](Part part) { return std::span(part->known_at); });
    joined.dates = gather_column<std::int32_t>(parts, places, 1, workspace,
                                               [](Part part) { return std::span(part->dates); });
    joined.source = gather_column<std::size_t>(parts, places, 1, workspace,
                                               [](Part part) { return std::span(part->source); });
    joined.instrument = {places.size(), workspace.folder};
    for (std::size_t i = 0; i < places.size(); ++i)
        joined.instrument[i] = static_cast<std::uint16_t>(places[i].part);
    return joined;
}

LabeledRows join_rows(std::span<const LabeledRows> parts, std::span<const RowPlace> places,
                      const Workspace& workspace) {
    LabeledRows joined;
    std::vector<const FeatureMatrix*> matrices;
    for (const LabeledRows& part : parts) {
        matrices.push_back(&part.matrix);
        joined.targets.beyond_session += part.targets.beyond_session;
        joined.targets.flat += part.targets.flat;
        joined.targets.not_positive += part.targets.not_positive;
    }
    joined.matrix = join_matrices(matrices, places, workspace);
    const auto column = [&]<class T>(ScratchArray<T>& to, auto member) {
        to = gather_column<T>(parts, places, 1, workspace, member);
    };
    column(joined.targets.values, [](const LabeledRows& part) { return std::span(part.targets.values); });
    column(joined.targets.valid, [](const LabeledRows& part) { return std::span(part.targets.valid); });
    column(joined.targets.outcome_at,
           [](const LabeledRows& part) { return std::span(part.targets.outcome_at); });
    column(joined.known, [](const LabeledRows& part) { return std::span(part.known); });
    column(joined.outcome_known, [](const LabeledRows& part) { return std::span(part.outcome_known); });
    column(joined.previous, [](const LabeledRows& part) { return std::span(part.previous); });
    return joined;
}

CommonSplit split_at_common_time(std::span<const Times> known, double train_split, std::size_t purge,
                                 std::size_t embargo, std::size_t horizon) {
    if (!(train_split > 0 && train_split < 1))
        throw usage_error(fmt::format("a training share of {} leaves one part empty", train_split))
            .expected("a number between 0 and 1, such as 0.8");
    CommonSplit split;
    std::vector<RowRange> all;
    std::size_t rows = 0;
    for (const Times& times : known) {
        all.push_back({0, times.size()});
        rows += times.size();
    }
    std::size_t before = static_cast<std::size_t>(static_cast<double>(rows) * train_split);
    visit_by_time(known, all, [&](std::size_t part, std::size_t row) {
        if (before-- == 0)
            split.border = known[part][row];
    });
    for (const Times& times : known) {
        const auto border = static_cast<std::size_t>(
            std::lower_bound(times.begin(), times.end(), split.border) - times.begin());
        Split part;
        part.purge = std::max(purge, horizon);
        part.purge_raised = purge < horizon;
        part.train_end = border - std::min(border, part.purge);
        part.validation_begin = std::min(times.size(), border + embargo);
        part.validation_end = times.size();
        split.parts.push_back(part);
    }
    return split;
}

} // namespace rekindle::market
