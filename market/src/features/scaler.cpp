#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/scaler.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace rekindle::market {
namespace {

struct CenterAndScale {
    double center = 0;
    double scale = 1;
};

/// The value at position q · (n - 1) of the sorted values, with linear interpolation between neighbors, like
/// NumPy. Reorders the values. Successive calls must not decrease q: each call searches only above the last
/// position.
class QuantileReader {
  public:
    explicit QuantileReader(std::span<double> values) : values_(values) {}

    double quantile(double q) {
        const double position = q * static_cast<double>(values_.size() - 1);
        const auto below = static_cast<std::size_t>(position);
        const double fraction = position - static_cast<double>(below);
        const double lower = order_statistic(below);
        if (below + 1 == values_.size())
            return lower;
        const double upper =
            *std::min_element(values_.begin() + static_cast<std::ptrdiff_t>(below) + 1, values_.end());
        const double difference = upper - lower;
        return fraction < 0.5 ? lower + difference * fraction : upper - difference * (1 - fraction);
    }

  private:
    double order_statistic(std::size_t index) {
        const auto begin = values_.begin();
        const auto nth = begin + static_cast<std::ptrdiff_t>(index);
        std::nth_element(begin + static_cast<std::ptrdiff_t>(searched_), nth, values_.end());
        searched_ = index;
        return *nth;
    }

    std::span<double> values_;
    std::size_t searched_ = 0;
};

CenterAndScale fit_robust(std::span<double> values) {
    QuantileReader reader(values);
    const double lower = reader.quantile(0.25);
    const double median = reader.quantile(0.5);
    const double upper = reader.quantile(0.75);
    return {median, upper - lower};
}

/// Sums in a fixed tree, so that the error grows with the logarithm of the count.
template <class Value>
double pairwise_sum(std::span<const double> values, Value value) {
    constexpr std::size_t leaf = 128;
    if (values.size() <= leaf) {
        double sum = 0;
        for (const double x : values)
            sum += value(x);
        return sum;
    }
    const std::size_t half = values.size() / 2;
    return pairwise_sum(values.first(half), value) + pairwise_sum(values.subspan(half), value);
}

CenterAndScale fit_standard(std::span<const double> values) {
    const auto n = static_cast<double>(values.size());
    const double mean = pairwise_sum(values, [](double x) { return x; }) / n;
    const double squares = pairwise_sum(values, [&](double x) { return (x - mean) * (x - mean); });
    return {mean, std::sqrt(squares / n)};
}

/// A spread that is only rounding error counts as none (the bound is scikit-learn's for centers up to 1).
double usable_scale(double scale, double center) {
    const double rounding = 10 * std::numeric_limits<double>::epsilon() * std::max(1.0, std::abs(center));
    return scale <= rounding ? 1 : scale;
}

void check_finite(std::span<const double> values, const std::string& feature, std::size_t first_row) {
    const auto bad = std::find_if(values.begin(), values.end(), [](double x) { return !std::isfinite(x); });
    if (bad != values.end())
        throw Error(fmt::format("feature {} is {} in row {}", feature, shortest(*bad),
                                first_row + static_cast<std::size_t>(bad - values.begin())))
            .expected("finite values to fit a scaler on");
}

CenterAndScale fit_column(std::span<double> values, const std::string& feature, Scaler::Kind kind,
                          std::size_t first_row) {
    check_finite(values, feature, first_row);
    CenterAndScale fitted = kind == Scaler::Kind::robust ? fit_robust(values) : fit_standard(values);
    if (!std::isfinite(fitted.scale) || !std::isfinite(fitted.center))
        throw Error(fmt::format("the spread of feature {} is too large for a double", feature));
    fitted.scale = usable_scale(fitted.scale, fitted.center);
    return fitted;
}

void check_features(const Scaler& scaler, const std::vector<std::string>& names) {
    for (std::size_t i = 0; i < std::max(names.size(), scaler.features.size()); ++i) {
        const std::string known = i < scaler.features.size() ? scaler.features[i] : "no feature";
        const std::string given = i < names.size() ? names[i] : "no feature";
        if (known != given)
            throw usage_error(fmt::format("column {} of the features is {}", i + 1, given))
                .expected(fmt::format("{}, as when the scaler was fitted", known));
    }
}

float scaled(const Scaler& scaler, std::size_t column, double value) {
    const double result = (value - scaler.center[column]) / scaler.scale[column];
    return static_cast<float>(scaler.clip > 0 ? std::clamp(result, -scaler.clip, scaler.clip) : result);
}

[[noreturn]] void throw_not_finite(const std::string& feature, double value, const std::string& where) {
    throw Error(
        fmt::format("feature {} cannot be scaled to float32: its value is {}", feature, shortest(value)))
        .at(where)
        .expected("a finite value");
}

/// Rows per block of a pass over the matrix.
constexpr std::size_t usual_rows = 8192;

/// Calls block(first, count) for every part of the range, in any order.
void for_each_block(RowRange range, const Workspace& workspace, ThreadPool& pool,
                    const std::function<void(std::size_t, std::size_t)>& block) {
    const std::size_t rows = workspace.rows_per_block(usual_rows);
    pool.for_each((range.size() + rows - 1) / rows, [&](std::size_t job) {
        const std::size_t first = range.begin + job * rows;
        block(first, std::min(rows, range.end - first));
    });
}

/// Copies the rows of the range, column by column, into the workspace: one pass over a matrix that may be on
/// disk instead of one per column.
ScratchArray<double> lay_out_columns(const FeatureMatrix& matrix, RowRange range, const Workspace& workspace,
                                     ThreadPool& pool) {
    ScratchArray<double> columns(range.size() * matrix.columns(), workspace.folder);
    for_each_block(range, workspace, pool, [&](std::size_t first, std::size_t count) {
        for (std::size_t column = 0; column < matrix.columns(); ++column) {
            const std::size_t to = column * range.size() + first - range.begin;
            for (std::size_t i = 0; i < count; ++i)
                columns[to + i] = matrix.at(first + i, column);
            columns.release(to, count);
        }
        matrix.release(first, count);
    });
    return columns;
}

void scale_rows(const Scaler& scaler, const FeatureMatrix& matrix, std::size_t first, std::size_t count,
                float* out) {
    for (std::size_t row = first; row < first + count; ++row, out += matrix.columns()) {
        for (std::size_t column = 0; column < matrix.columns(); ++column) {
            out[column] = scaled(scaler, column, matrix.at(row, column));
            if (!std::isfinite(out[column]))
                throw_not_finite(scaler.features[column], matrix.at(row, column), fmt::format("row {}", row));
        }
    }
}

} // namespace

Scaler Scaler::fit(const FeatureMatrix& matrix, RowRange range, Kind kind, ThreadPool& pool,
                   const Workspace& workspace) {
    if (range.begin >= range.end || range.end > matrix.rows())
        throw usage_error("there are no rows to fit the scaler on");
    Scaler scaler{kind, kind == Kind::none ? 0 : default_clip, range.size(), matrix.names, {}, {}};
    scaler.center.assign(matrix.columns(), 0);
    scaler.scale.assign(matrix.columns(), 1);
    if (kind == Kind::none)
        return scaler;
    const auto keep = [&](std::size_t column, std::span<double> values) {
        const CenterAndScale fitted = fit_column(values, matrix.names[column], kind, range.begin);
        scaler.center[column] = fitted.center;
        scaler.scale[column] = fitted.scale;
    };
    if (workspace.folder.empty()) {
        pool.for_each(matrix.columns(), [&](std::size_t column) {
            std::vector<double> values(range.size());
            for (std::size_t i = 0; i < values.size(); ++i)
                values[i] = matrix.at(range.begin + i, column);
            keep(column, values);
        });
        return scaler;
    }
    ScratchArray<double> columns = lay_out_columns(matrix, range, workspace, pool);
    pool.for_each(matrix.columns(), [&](std::size_t column) {
        const std::size_t first = column * range.size();
        keep(column, std::span(columns).subspan(first, range.size()));
        columns.release(first, range.size());
    });
    return scaler;
}

void Scaler::transform(const FeatureMatrix& matrix, RowRange range, std::span<float> out,
                       ThreadPool& pool) const {
    check_features(*this, matrix.names);
    if (range.begin > range.end || range.end > matrix.rows() || out.size() != range.size() * matrix.columns())
        throw internal_error("the rows to scale do not match the output buffer");
    for_each_block(range, {}, pool, [&](std::size_t first, std::size_t count) {
        scale_rows(*this, matrix, first, count, out.data() + (first - range.begin) * matrix.columns());
    });
}

std::vector<float> Scaler::transform(const FeatureMatrix& matrix, RowRange range, ThreadPool& pool) const {
    std::vector<float> out(range.size() * matrix.columns());
    transform(matrix, range, out, pool);
    return out;
}

ScratchArray<float> Scaler::transform(const FeatureMatrix& matrix, RowRange range, ThreadPool& pool,
                                      const Workspace& workspace) const {
    check_features(*this, matrix.names);
    if (range.begin > range.end || range.end > matrix.rows())
        throw internal_error("the rows to scale are not in the matrix");
    const std::size_t columns = matrix.columns();
    ScratchArray<float> out(range.size() * columns, workspace.folder);
    for_each_block(range, workspace, pool, [&](std::size_t first, std::size_t count) {
        const std::size_t to = (first - range.begin) * columns;
        scale_rows(*this, matrix, first, count, out.data() + to);
        out.release(to, count * columns);
        matrix.release(first, count);
    });
    return out;
}

std::vector<float> Scaler::transform_row(std::span<const double> row) const {
    if (row.size() != features.size())
        throw internal_error("the row to scale has a different number of features than the scaler");
    std::vector<float> out(row.size());
    for (std::size_t column = 0; column < row.size(); ++column) {
        out[column] = scaled(*this, column, row[column]);
        if (!std::isfinite(out[column]))
            throw_not_finite(features[column], row[column], "");
    }
    return out;
}

} // namespace rekindle::market
