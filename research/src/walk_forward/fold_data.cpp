#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/clock.h>
#include <rekindle/research/fold_data.h>
#include <rekindle/trainer/forecast.h>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace rekindle::research {

namespace {

/// The targets of these rows, in the unit of the outcome.
std::vector<float> targets_of(const ForecastRows& rows, std::span<const std::size_t> chosen) {
    std::vector<float> targets;
    targets.reserve(chosen.size());
    for (const std::size_t row : chosen)
        targets.push_back(rows.targets.values[row]);
    return targets;
}

std::vector<std::size_t> rows_of(std::span<const RowRange> ranges) {
    std::vector<std::size_t> rows;
    rows.reserve(rows_in(ranges));
    for (const RowRange& range : ranges)
        for (std::size_t row = range.begin; row < range.end; ++row)
            rows.push_back(row);
    return rows;
}

/// Divides rows by their instrument.
std::vector<std::vector<std::size_t>> by_instrument(const ForecastRows& rows,
                                                    std::span<const RowRange> ranges) {
    std::vector<std::vector<std::size_t>> own(std::max<std::size_t>(1, rows.instruments.size()));
    for (const std::size_t row : rows_of(ranges))
        own[rows.matrix.instrument_of(row)].push_back(row);
    return own;
}

/// Copies these rows into a matrix of their own.
market::FeatureMatrix copy_of(const market::FeatureMatrix& matrix, std::span<const std::size_t> rows) {
    market::FeatureMatrix copy;
    copy.names = matrix.names;
    copy.values = ScratchArray<double>(rows.size() * matrix.columns(), {});
    copy.source = ScratchArray<std::size_t>(rows.size(), {});
    copy.dates = ScratchArray<std::int32_t>(rows.size(), {});
    for (std::size_t i = 0; i < rows.size(); ++i) {
        std::copy_n(matrix.values.data() + rows[i] * matrix.columns(), matrix.columns(),
                    copy.values.data() + i * matrix.columns());
        copy.dates[i] = matrix.dates[rows[i]];
    }
    return copy;
}

market::Scaler fit_scaler(const ForecastRows& rows, std::span<const std::size_t> train, ThreadPool& pool) {
    const bool one_range = !train.empty() && train.back() - train.front() + 1 == train.size();
    if (one_range)
        return market::Scaler::fit(rows.matrix, {train.front(), train.back() + 1}, rows.scaling, pool);
    const market::FeatureMatrix copy = copy_of(rows.matrix, train);
    return market::Scaler::fit(copy, {0, copy.rows()}, rows.scaling, pool);
}

/// The statistics of training rows of one instrument, whose scaling is fitted on `scaled_by`.
FoldInstrument fold_instrument(const ForecastRows& rows, std::span<const std::size_t> own,
                               std::span<const std::size_t> scaled_by, market::Scaler scaler) {
    FoldInstrument result{std::move(scaler), rows.meaning};
    trainer::set_scale(result.meaning, targets_of(rows, scaled_by));
    const std::vector<float> targets = targets_of(rows, own.empty() ? scaled_by : own);
    result.share_up = trainer::share_of_rises(result.meaning, targets);
    result.training_mean = trainer::mean_target(result.meaning, targets);
    return result;
}

/// Throws Error (usage) if an instrument has too few training rows to fit its own scaling.
void require_rows(const ForecastRows& rows, const std::vector<std::vector<std::size_t>>& train,
                  std::size_t first_test_row) {
    for (std::size_t i = 0; i < train.size(); ++i)
        if (train[i].size() < trainer::min_training_rows)
            throw usage_error(fmt::format("only {} of {} can be trained on in the fold that predicts from {} "
                                          "on",
                                          counted(train[i].size(), "row"), rows.instruments[i],
                                          market::format_date(rows.matrix.dates[first_test_row])))
                .at(rows.instruments[i])
                .expected(fmt::format("at least {}, to fit the scaling of each instrument",
                                      trainer::min_training_rows))
                .hint("Leave the instrument out (name the others with --contract), train on more rows "
                      "(--train-rows), or use --scale-by all.");
}

std::vector<FoldInstrument> fold_instruments(const ForecastRows& rows, const Fold& fold, ThreadPool& pool) {
    const std::vector<std::size_t> all = rows_of(fold.train);
    if (rows.instruments.empty())
        return {fold_instrument(rows, all, all, fit_scaler(rows, all, pool))};
    const auto own = by_instrument(rows, fold.train);
    std::vector<FoldInstrument> instruments;
    if (rows.scale_by == trainer::ScaleBy::all) {
        const market::Scaler scaler = fit_scaler(rows, all, pool);
        for (const auto& train : own)
            instruments.push_back(fold_instrument(rows, train, all, scaler));
        return instruments;
    }
    require_rows(rows, own, fold.test.front().begin);
    for (const auto& train : own)
        instruments.push_back(fold_instrument(rows, train, train, fit_scaler(rows, train, pool)));
    return instruments;
}

} // namespace

std::size_t ForecastRows::inputs() const noexcept {
    return matrix.columns() +
           (instrument_input == trainer::InstrumentInput::one_hot ? instruments.size() : 0);
}

std::vector<std::string> ForecastRows::input_names() const {
    std::vector<std::string> names = matrix.names;
    if (instrument_input == trainer::InstrumentInput::one_hot)
        for (const std::string& instrument : instruments)
            names.push_back(trainer::instrument_input_name(instrument));
    return names;
}

FoldBlock::FoldBlock(const ForecastRows& rows, std::span<const Fold> folds, ThreadPool& pool)
    : columns_(rows.inputs()) {
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
    FoldRows added{fold_instruments(rows, fold, pool), {}, {}, {}};
    added.train = append(rows, fold.train, added, pool);
    added.test = append(rows, fold.test, added, pool);
    added.sample = added.train.size() <= trainer::error_rows ? added.train : append_sample(added.train);
    folds_.push_back(std::move(added));
}

void FoldBlock::append_inputs(const ForecastRows& rows, RowRange range, const FoldRows& fold,
                              ThreadPool& pool) {
    values_->inputs.resize(values_->inputs.size() + range.size() * columns_);
    const std::span<float> inputs = std::span(values_->inputs).last(range.size() * columns_);
    if (rows.instruments.empty()) {
        fold.instruments.front().scaler.transform(rows.matrix, range, inputs, pool);
        return;
    }
    const std::size_t features = rows.matrix.columns();
    const auto own = by_instrument(rows, {&range, 1});
    for (std::size_t i = 0; i < own.size(); ++i) {
        const market::FeatureMatrix copy = copy_of(rows.matrix, own[i]);
        std::vector<float> scaled(own[i].size() * features);
        fold.instruments[i].scaler.transform(copy, {0, own[i].size()}, scaled, pool);
        for (std::size_t n = 0; n < own[i].size(); ++n) {
            float* const to = inputs.data() + (own[i][n] - range.begin) * columns_;
            std::copy_n(scaled.data() + n * features, features, to);
            if (columns_ > features)
                to[features + i] = 1;
        }
    }
}

RowRange FoldBlock::append(const ForecastRows& rows, std::span<const RowRange> ranges, const FoldRows& fold,
                           ThreadPool& pool) {
    const std::size_t begin = values_->targets.size();
    for (const RowRange& range : ranges) {
        append_inputs(rows, range, fold, pool);
        for (std::size_t row = range.begin; row < range.end; ++row) {
            has_target_.push_back(rows.targets.valid[row]);
            if (!rows.instruments.empty())
                instrument_.push_back(rows.matrix.instrument[row]);
            values_->targets.push_back(
                rows.targets.valid[row] != 0
                    ? static_cast<float>(fold.of(rows, row).meaning.network_target(rows.targets.values[row]))
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
        if (!instrument_.empty())
            instrument_.push_back(instrument_[row]);
    }
    return {begin, values_->targets.size()};
}

} // namespace rekindle::research
