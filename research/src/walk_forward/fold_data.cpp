#include <rekindle/research/fold_data.h>
#include <rekindle/trainer/forecast.h>

#include <algorithm>
#include <iterator>

namespace rekindle::research {

namespace {

/// The targets of these rows, in the unit of the outcome.
std::vector<float> targets_of(const ForecastRows& rows, std::span<const RowRange> ranges) {
    std::vector<float> targets;
    targets.reserve(rows_in(ranges));
    for (const RowRange& range : ranges)
        targets.insert(targets.end(), rows.targets.values.begin() + static_cast<std::ptrdiff_t>(range.begin),
                       rows.targets.values.begin() + static_cast<std::ptrdiff_t>(range.end));
    return targets;
}

double mean_of(std::span<const float> values) {
    double sum = 0;
    for (const float value : values)
        sum += static_cast<double>(value);
    return sum / static_cast<double>(values.size());
}

/// Copies these rows into a matrix of their own.
market::FeatureMatrix copy_of(const market::FeatureMatrix& matrix, std::span<const RowRange> ranges) {
    const std::size_t rows = rows_in(ranges);
    market::FeatureMatrix copy;
    copy.names = matrix.names;
    copy.values = ScratchArray<double>(rows * matrix.columns(), {});
    copy.source = ScratchArray<std::size_t>(rows, {});
    copy.dates = ScratchArray<std::int32_t>(rows, {});
    auto values = copy.values.begin();
    auto dates = copy.dates.begin();
    for (const RowRange& range : ranges) {
        values =
            std::copy_n(matrix.values.begin() + static_cast<std::ptrdiff_t>(range.begin * matrix.columns()),
                        range.size() * matrix.columns(), values);
        dates =
            std::copy_n(matrix.dates.begin() + static_cast<std::ptrdiff_t>(range.begin), range.size(), dates);
    }
    return copy;
}

market::Scaler fit_scaler(const ForecastRows& rows, std::span<const RowRange> train, ThreadPool& pool) {
    if (train.size() == 1)
        return market::Scaler::fit(rows.matrix, train.front(), rows.scaling, pool);
    const market::FeatureMatrix copy = copy_of(rows.matrix, train);
    return market::Scaler::fit(copy, {0, copy.rows()}, rows.scaling, pool);
}

} // namespace

FoldBlock::FoldBlock(const ForecastRows& rows, std::span<const Fold> folds, ThreadPool& pool)
    : columns_(rows.matrix.columns()) {
    std::size_t bytes = 0;
    for (const Fold& fold : folds)
        bytes += bytes_of(fold, columns_);
    values_->inputs.reserve(bytes / sizeof(float));
    for (const Fold& fold : folds)
        add(rows, fold, pool);
}

std::size_t FoldBlock::bytes_of(const Fold& fold, std::size_t columns) noexcept {
    const std::size_t train = rows_in(fold.train);
    return (train + rows_in(fold.test) + std::min(train, trainer::error_rows)) * columns * sizeof(float);
}

mlp::Samples FoldBlock::samples() const noexcept {
    return {values_->inputs.data(), columns_, values_->targets.data(), values_->targets.size(), values_};
}

std::vector<std::size_t> FoldBlock::rows_with_target(RowRange rows) const {
    std::vector<std::size_t> found;
    for (std::size_t row = rows.begin; row < rows.end; ++row)
        if (has_target_[row] != 0)
            found.push_back(row);
    return found;
}

void FoldBlock::add(const ForecastRows& rows, const Fold& fold, ThreadPool& pool) {
    FoldRows added{fit_scaler(rows, fold.train, pool), rows.meaning, 0, 0, {}, {}, {}};
    const std::vector<float> targets = targets_of(rows, fold.train);
    trainer::set_scale(added.meaning, targets);
    added.share_up = trainer::share_of_rises(added.meaning, targets);
    added.training_mean = added.meaning.is_probability() ? added.share_up : mean_of(targets);
    added.train = append(rows, fold.train, added, pool);
    added.test = append(rows, fold.test, added, pool);
    added.sample = added.train.size() <= trainer::error_rows ? added.train : append_sample(added.train);
    folds_.push_back(std::move(added));
}

RowRange FoldBlock::append(const ForecastRows& rows, std::span<const RowRange> ranges, const FoldRows& fold,
                           ThreadPool& pool) {
    const std::size_t begin = values_->targets.size();
    for (const RowRange& range : ranges) {
        values_->inputs.resize(values_->inputs.size() + range.size() * columns_);
        fold.scaler.transform(rows.matrix, range, std::span(values_->inputs).last(range.size() * columns_),
                              pool);
        for (std::size_t row = range.begin; row < range.end; ++row) {
            has_target_.push_back(rows.targets.valid[row]);
            values_->targets.push_back(
                rows.targets.valid[row] != 0
                    ? static_cast<float>(fold.meaning.network_target(rows.targets.values[row]))
                    : 0.0f);
        }
    }
    return {begin, values_->targets.size()};
}

RowRange FoldBlock::append_sample(RowRange train) {
    const std::size_t begin = values_->targets.size();
    for (std::size_t i = 0; i < trainer::error_rows; ++i) {
        const std::size_t row = train.begin + train.size() * i / trainer::error_rows;
        std::copy_n(values_->inputs.begin() + static_cast<std::ptrdiff_t>(row * columns_), columns_,
                    std::back_inserter(values_->inputs));
        values_->targets.push_back(values_->targets[row]);
        has_target_.push_back(1);
    }
    return {begin, values_->targets.size()};
}

} // namespace rekindle::research
