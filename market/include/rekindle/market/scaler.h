#pragma once
/// Scaling of features, fitted on the training rows only and saved with the model.

#include <rekindle/base/scratch_array.h>
#include <rekindle/base/thread_pool.h>
#include <rekindle/market/feature_matrix.h>

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace rekindle::market {

/// Rows [begin, end) of a matrix.
struct RowRange {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t size() const noexcept { return end - begin; }
    friend bool operator==(const RowRange&, const RowRange&) = default;
};

/// value -> clamp((value - center) / scale, -clip, clip), as float32.
///   robust    center: median, scale: interquartile range, exact and with linear interpolation
///             (scikit-learn's RobustScaler)
///   standard  center: mean, scale: population std (scikit-learn's StandardScaler)
///   none      center: 0, scale: 1, no clipping
/// A constant column (scale <= 10 · epsilon · max(1, |center|)) gets scale 1.
struct Scaler {
    enum class Kind { robust, standard, none };
    static constexpr double default_clip = 10;

    Kind kind = Kind::robust;
    double clip = default_clip; ///< in units of scale; 0: no clipping
    std::size_t rows = 0;       ///< number of rows that it was fitted on
    std::vector<std::string> features;
    std::vector<double> center;
    std::vector<double> scale;

    /// Exact, and independent of the number of threads. Throws Error (usage) if the range is empty, and an
    /// Error naming the feature if a value is not finite or its spread overflows. With a workspace on disk,
    /// the columns are transposed into it once and searched there.
    static Scaler fit(const FeatureMatrix& matrix, RowRange range, Kind kind, ThreadPool& pool,
                      const Workspace& workspace = {});

    /// Scales rows [begin, end) into `out`, row-major, range.size() × columns. Throws Error (usage) naming
    /// the first difference if the features of the matrix are not those of the scaler, and an Error naming
    /// feature and row if a result is not finite.
    void transform(const FeatureMatrix& matrix, RowRange range, std::span<float> out, ThreadPool& pool) const;
    std::vector<float> transform(const FeatureMatrix& matrix, RowRange range, ThreadPool& pool) const;
    /// Writes into an array of the workspace. If that is on disk, finished rows are released from memory.
    ScratchArray<float> transform(const FeatureMatrix& matrix, RowRange range, ThreadPool& pool,
                                  const Workspace& workspace) const;
    /// Scales one row of columns() values; bit-identical to transform().
    std::vector<float> transform_row(std::span<const double> row) const;

    friend bool operator==(const Scaler&, const Scaler&) = default;
};

/// "robust", "standard", "none".
const char* to_string(Scaler::Kind kind) noexcept;
/// Throws Error (usage) listing the known words.
Scaler::Kind scaler_kind_from_string(const std::string& word);

/// {"kind", "clip", "rows", "features": [name], "center": [number], "scale": [number]}; exact round trip.
void to_json(nlohmann::json& json, const Scaler& scaler);
/// Throws Error (usage) if a key is missing or has the wrong type, the lengths differ, a number is not finite
/// or a scale is not positive.
void from_json(const nlohmann::json& json, Scaler& scaler);

} // namespace rekindle::market
