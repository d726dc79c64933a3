#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/research/folds.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace rekindle::research {

namespace {

void add_row(std::vector<RowRange>& ranges, std::size_t row) {
    if (!ranges.empty() && ranges.back().end == row)
        ++ranges.back().end;
    else
        ranges.push_back({row, row + 1});
}

/// The latest `most` rows of the ranges.
std::vector<RowRange> latest_rows(std::vector<RowRange> ranges, std::size_t most) {
    std::size_t surplus = rows_in(ranges) - std::min(rows_in(ranges), most);
    auto first = ranges.begin();
    for (; surplus > 0 && first->size() <= surplus; ++first)
        surplus -= first->size();
    ranges.erase(ranges.begin(), first);
    if (surplus > 0)
        ranges.front().begin += surplus;
    return ranges;
}

std::size_t trainable_rows(const RowTimes& rows, std::size_t end) {
    return static_cast<std::size_t>(std::count_if(rows.trainable.begin(),
                                                  rows.trainable.begin() + static_cast<std::ptrdiff_t>(end),
                                                  [](std::uint8_t trainable) { return trainable != 0; }));
}

/// The first row with at least `count` trainable rows before it that are not purged; `end` if no row has that
/// many.
std::size_t row_after(const RowTimes& rows, std::size_t count, std::size_t end) {
    std::size_t trainable = 0, row = 0;
    while (row < end && trainable < count)
        trainable += rows.trainable[row++] != 0 ? 1 : 0;
    while (row < end && rows_in(training_rows_before(rows, row, count)) < count)
        ++row;
    return row;
}

/// Divides rows into blocks of equal size; the first blocks get one more row each if some are left over.
std::vector<RowRange> equal_blocks(std::size_t rows, std::size_t blocks) {
    std::vector<RowRange> result;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < blocks; ++i) {
        const std::size_t size = rows / blocks + (i < rows % blocks ? 1 : 0);
        result.push_back({begin, begin + size});
        begin += size;
    }
    return result;
}

/// A test block excludes from training the earlier rows whose target ends after `first_known`, and the later
/// rows that become known before `last_end` or during the embargo.
struct TestBlock {
    RowRange rows;
    std::int64_t first_known = 0, last_end = 0;
    std::vector<std::uint8_t> embargo; ///< for the rows after the block: 1 if in the embargo
};

/// Marks the first `count` rows of each instrument from row `begin` on.
std::vector<std::uint8_t> embargo_after(const RowTimes& rows, std::size_t begin, std::size_t count) {
    const std::size_t instruments =
        rows.instrument.empty() ? 1 : std::size_t{*std::ranges::max_element(rows.instrument)} + 1;
    std::vector<std::size_t> left(instruments, count);
    std::size_t unfinished = count > 0 ? instruments : 0;
    std::vector<std::uint8_t> embargo;
    for (std::size_t row = begin; row < rows.size() && unfinished > 0; ++row) {
        std::size_t& own = left[rows.instrument.empty() ? 0 : rows.instrument[row]];
        embargo.push_back(own > 0 ? 1 : 0);
        if (own > 0 && --own == 0)
            --unfinished;
    }
    return embargo;
}

TestBlock test_block(const RowTimes& rows, RowRange range, std::size_t embargo) {
    TestBlock block{range, rows.known_at[range.begin], std::numeric_limits<std::int64_t>::min(),
                    embargo_after(rows, range.end, embargo)};
    for (std::size_t row = range.begin; row < range.end; ++row)
        if (rows.trainable[row] != 0)
            block.last_end = std::max(block.last_end, rows.end[row]);
    return block;
}

bool may_train(const RowTimes& rows, std::size_t row, const TestBlock& block,
               const CombinatorialRules& rules) {
    if (row < block.rows.begin)
        return rows.end[row] <= block.first_known;
    const std::size_t after = row - block.rows.end;
    if (row < block.rows.end || (after < block.embargo.size() && block.embargo[after] != 0))
        return false;
    const bool embargo = rules.embargo_seconds > 0;
    return embargo ? rows.known_at[row] > block.last_end + rules.embargo_seconds
                   : rows.known_at[row] >= block.last_end;
}

/// All choices of `count` numbers below `limit`, in lexicographic order.
std::vector<std::vector<std::size_t>> combinations(std::size_t limit, std::size_t count) {
    std::vector<std::vector<std::size_t>> result;
    std::vector<std::size_t> choice(count);
    for (std::size_t i = 0; i < count; ++i)
        choice[i] = i;
    for (;;) {
        result.push_back(choice);
        std::size_t i = count;
        while (i > 0 && choice[i - 1] == limit - count + i - 1)
            --i;
        if (i == 0)
            return result;
        ++choice[i - 1];
        for (; i < count; ++i)
            choice[i] = choice[i - 1] + 1;
    }
}

void check_rules(const CombinatorialRules& rules, std::size_t end) {
    constexpr std::size_t most_groups = 20;
    if (rules.groups < 2 || rules.groups > most_groups || rules.test_groups < 1 ||
        rules.test_groups >= rules.groups)
        throw usage_error(fmt::format("cannot predict {} of {} blocks", rules.test_groups, rules.groups))
            .expected(fmt::format("2 to {} blocks, of which at least one is predicted and one is not",
                                  most_groups));
    if (end < rules.groups)
        throw usage_error(
            fmt::format("{} too few for {} blocks", counted(end, "row is", "rows are"), rules.groups))
            .expected("at least one row in each block");
}

} // namespace

std::size_t rows_in(std::span<const RowRange> ranges) noexcept {
    std::size_t rows = 0;
    for (const RowRange& range : ranges)
        rows += range.size();
    return rows;
}

std::vector<RowRange> training_rows_before(const RowTimes& rows, std::size_t test_begin, std::size_t most) {
    std::vector<RowRange> train;
    const std::int64_t known = rows.known_at[test_begin];
    for (std::size_t row = 0; row < test_begin; ++row)
        if (rows.trainable[row] != 0 && rows.end[row] <= known)
            add_row(train, row);
    return latest_rows(std::move(train), most);
}

std::vector<Fold> walk_forward_folds(const RowTimes& rows, std::size_t end, const WindowRules& rules) {
    const std::size_t first = row_after(rows, std::max<std::size_t>(1, rules.train_rows), end);
    if (end - first < rules.folds) {
        const std::size_t missing = rules.train_rows + rules.folds -
                                    std::min(rules.train_rows + rules.folds, trainable_rows(rows, end));
        throw usage_error(fmt::format("{} too few for {} and a first training window of {}",
                                      counted(end, "row is", "rows are"), counted(rules.folds, "test window"),
                                      rules.train_rows))
            .expected("at least one row to predict in each window")
            .hint(fmt::format("Use more data (at least {}), or smaller windows.",
                              counted(std::max<std::size_t>(1, missing), "more row")));
    }
    const std::size_t most =
        rules.window == Window::rolling ? rules.train_rows : std::numeric_limits<std::size_t>::max();
    std::vector<Fold> folds;
    const std::size_t count = end - first;
    for (std::size_t i = 0; i < rules.folds; ++i) {
        const RowRange test{first + count * i / rules.folds, first + count * (i + 1) / rules.folds};
        folds.push_back({training_rows_before(rows, test.begin, most), {test}});
    }
    return folds;
}

CombinatorialFolds combinatorial_folds(const RowTimes& rows, std::size_t end,
                                       const CombinatorialRules& rules) {
    check_rules(rules, end);
    std::vector<TestBlock> blocks;
    for (const RowRange& range : equal_blocks(end, rules.groups))
        blocks.push_back(test_block(rows, range, rules.embargo_rows));
    CombinatorialFolds result;
    std::vector<std::size_t> used(rules.groups); // number of folds so far that predict each block
    for (const auto& choice : combinations(rules.groups, rules.test_groups)) {
        Fold fold;
        std::vector<std::size_t> paths;
        for (const std::size_t block : choice) {
            fold.test.push_back(blocks[block].rows);
            paths.push_back(used[block]++);
        }
        std::vector<std::uint8_t> tested(rules.groups);
        for (const std::size_t block : choice)
            tested[block] = 1;
        for (std::size_t block = 0; block < rules.groups; ++block)
            for (std::size_t row = blocks[block].rows.begin; row < blocks[block].rows.end; ++row)
                if (tested[block] == 0 && rows.trainable[row] != 0 &&
                    std::ranges::all_of(
                        choice, [&](std::size_t test) { return may_train(rows, row, blocks[test], rules); }))
                    add_row(fold.train, row);
        if (fold.train.empty())
            throw usage_error(fmt::format("fold {} has no row left to train on, because all are purged or in "
                                          "the embargo",
                                          result.folds.size() + 1))
                .hint("Use more data, fewer test blocks, or a shorter target or embargo.");
        result.folds.push_back(std::move(fold));
        result.path_of.push_back(std::move(paths));
    }
    result.paths = used.front();
    return result;
}

} // namespace rekindle::research
