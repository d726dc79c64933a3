#pragma once
/// Writes the feature matrix to a file.

#include <rekindle/market/bar_ends.h>
#include <rekindle/market/feature_matrix.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace rekindle::market {

/// Writes the columns instrument (the name; absent if `instruments` is empty), date, known_at (the end of the
/// newest bar that the row uses, from `ends`) and the features; one line per row, ending in LF. Dates look
/// like 2024-12-16, timestamps like 2024-12-16T21:00:00 followed by `zone_mark` ("Z", or "" for Clock::raw,
/// whose zone is unknown). Numbers are the shortest text that reads back as the same double. `instruments`
/// maps the values of FeatureMatrix::instrument to names; a name with a comma or a quote is quoted. The file
/// is written atomically. Throws Error naming the file.
void write_features_csv(const std::filesystem::path& path, const FeatureMatrix& matrix, const BarEnds& ends,
                        std::string_view zone_mark = "Z", std::span<const std::string> instruments = {});

enum class NpyType { float32, float64 };

/// NumPy's .npy format, version 1.0: little-endian, C order, shape (rows, columns). The format has no column
/// names. Written atomically; throws Error naming the file, and naming the feature if a value does not fit
/// into float32.
void write_features_npy(const std::filesystem::path& path, const FeatureMatrix& matrix, NpyType type);

} // namespace rekindle::market
