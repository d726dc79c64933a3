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
///   robust    center is the median, scale the distance between the quartiles (exact, linear interpolation
///   between
///             neighbors: scikit-learn's RobustScaler)
///   standard  center is the mean, scale the population standard deviation (scikit-learn's StandardScaler)
///   none      center 0, scale 1, no clipping
/// A column that does not vary (scale <= 10 · epsilon · max(1, |center|)) gets scale 1.
struct Scaler {
    enum class Kind { robust, standard, none };
    static constexpr double default_clip = 10;

    Kind kind = Kind::robust;
    double clip = default_clip; ///< in units of scale; 0: no clipping
    std::size_t rows = 0;       ///< that it was fitted on
    std::vector<std::string> features;
    std::vector<double> center;
    std::vector<double> scale;

    /// Exact and independent of the number of threads. Throws Error (usage) when the range is empty, Error
    /// naming the feature when a value is not finite or its spread overflows.
    /// With a workspace on disk the columns are laid out there once and searched there.
    static Scaler fit(const FeatureMatrix& matrix, RowRange range, Kind kind, ThreadPool& pool,
                      const Workspace& workspace = {});

    /// Scales rows [begin, end) into `out`, row-major, range.size() × columns. Throws Error (usage) when the
    /// matrix has other features than the scaler, naming the first difference; Error naming feature and row
    /// when a result is not finite.
    void transform(const FeatureMatrix& matrix, RowRange range, std::span<float> out, ThreadPool& pool) const;
    std::vector<float> transform(const FeatureMatrix& matrix, RowRange range, ThreadPool& pool) const;
    /// Into an array of the workspace; rows that are done leave memory when it is on disk.
    ScratchArray<float> transform(const FeatureMatrix& matrix, RowRange range, ThreadPool& pool,
                                  const Workspace& workspace) const;
    /// Scales one row of columns() values; the same bits as transform().
    std::vector<float> transform_row(std::span<const double> row) const;

    friend bool operator==(const Scaler&, const Scaler&) = default;
};

/// "robust", "standard", "none".
const char* to_string(Scaler::Kind kind) noexcept;
/// Throws Error (usage) naming the known words.
Scaler::Kind scaler_kind_from_string(const std::string& word);

/// {"kind", "clip", "rows", "features": [name], "center": [number], "scale": [number]}; exact round trip.
void to_json(nlohmann::json& json, const Scaler& scaler);
/// Throws Error (usage) when a key is missing or of the wrong type, the lengths differ, a number is not
/// finite or a scale is not positive.
void from_json(const nlohmann::json& json, Scaler& scaler);

} // namespace rekindle::market
