#pragma once
/// Loss and direction accuracy of a population on the validation rows.

#include <rekindle/mlp/population.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace rekindle::trainer {

/// Holds a reference to the population and to the targets of the samples. Not thread-safe.
class Validator {
  public:
    /// Prepares the rows for the population. `up_threshold`: a target above it is a rise, one
    /// equal to it is flat.
    Validator(mlp::Population& population, const mlp::Samples& samples, double up_threshold);

    /// The mean loss per member, in the unit of the loss.
    std::vector<double> losses() const;
    /// Per member, the share of the rows with a direction (not flat) whose direction it predicts: a first
    /// output above 0 is a rise. NaN when no row has a direction.
    std::vector<double> direction_accuracies();

  private:
    /// Adds the correct predictions of members [first_member, first_member + members) to `correct`.
    void count_correct(std::size_t first_member, std::size_t members, std::vector<std::size_t>& correct);

    mlp::Population& population_;
    std::unique_ptr<mlp::SampleSet> samples_;
    const float* targets_;
    std::size_t rows_;
    double up_threshold_;
    std::vector<float> outputs_; ///< of one block of rows, kept between calls
};

} // namespace rekindle::trainer
