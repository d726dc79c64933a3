#pragma once
/// Defines the settings that a search varies and chooses their values.

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::research {

/// The key that varies the number of rows of a rolling training window.
inline constexpr const char* train_rows_key = "train_rows";

/// One setting and the values that it may take: a list of choices, or an interval of numbers.
struct Dimension {
    std::string key;                             ///< a key of trainer::TrainConfig, or train_rows_key
    std::vector<nlohmann::ordered_json> choices; ///< empty for an interval
    double low = 0, high = 0;                    ///< the interval, with low < high
    bool logarithmic = false;                    ///< equal ratios are equally likely; requires low > 0
    bool integer = false;                        ///< values are rounded to whole numbers
    std::size_t points = 0; ///< number of grid values in the interval, including both ends; 0: not given

    /// The value at a position in [0, 1).
    nlohmann::ordered_json at(double position) const;
    /// The values that a grid tries. Precondition: the dimension has choices or points.
    std::vector<nlohmann::ordered_json> grid() const;
};

/// Reads "NAME=VALUES". NAME is an option of train. VALUES are either choices separated by | ("32,16|64,32"),
/// or LOW..HIGH with an optional number of grid points and scale ("1e-4..1e-2/10@log"). Throws Error (usage)
/// that names the mistake; for an unknown name, it lists the settings that can vary.
Dimension parse_dimension(std::string_view text);

/// The keys that can vary, in the order of the settings.
std::vector<std::string> searchable_keys();
/// The searchable keys that determine the rows: features, scaling and target.
std::vector<std::string> row_keys();

enum class SearchMethod {
    grid,    ///< every combination
    random,  ///< independent draws
    sobol,   ///< a low-discrepancy sequence with a random digital shift
    halving, ///< Sobol points, first with few epochs, then with more for the best (ASHA)
};

/// In spaces of at most this many points, random and Sobol draws skip points that were drawn before.
inline constexpr std::uint64_t most_distinct_points = 16384;

/// A point of the space: one value per dimension, in the order of the dimensions.
using SearchPoint = std::vector<nlohmann::ordered_json>;

/// The points of a search by index. Immutable. A point depends only on its index, the space, the method and
/// the seed. In a space of at most most_distinct_points points, no point has two indices.
class SearchPoints {
  public:
    /// Throws Error (usage) if a dimension of a grid has neither choices nor a number of points, if a grid
    /// has more than 2^32 points, or if a Sobol sequence would need more than sobol_dimensions dimensions.
    SearchPoints(std::vector<Dimension> dimensions, SearchMethod method, std::uint64_t seed);

    const std::vector<Dimension>& dimensions() const noexcept { return dimensions_; }
    /// The number of points of a grid or of a space of at most most_distinct_points points; 0 if the points
    /// never run out.
    std::uint64_t count() const noexcept { return count_; }
    /// Precondition: index < count(), unless count() is 0.
    SearchPoint at(std::uint64_t index) const;

  private:
    SearchPoint drawn(std::uint64_t draw) const;
    void number_distinct_points();

    std::vector<Dimension> dimensions_;
    SearchMethod method_;
    std::uint64_t seed_;
    std::vector<SearchPoint> grid_;    ///< the values of each dimension
    std::vector<std::uint64_t> draws_; ///< for each point of a small space: the draw that gives it first
    std::uint64_t count_ = 0;
};

/// The most dimensions for which sobol_point() has direction numbers.
inline constexpr std::size_t sobol_dimensions = 21;

/// Point `index` of the Sobol sequence in this many dimensions, as 32-bit fractions (Sobol, 1967; Gray-code
/// order of Antonov and Saleev, 1979; direction numbers of Joe and Kuo, 2008). Precondition: dimensions <=
/// sobol_dimensions.
std::vector<std::uint32_t> sobol_point(std::uint32_t index, std::size_t dimensions);

} // namespace rekindle::research
