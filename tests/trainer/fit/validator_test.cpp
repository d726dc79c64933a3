#include "fit/validator.h"

#include <rekindle/base/philox.h>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <vector>

namespace rekindle::trainer {
namespace {

/// Three networks without training, and more rows than one block of predictions holds.
class ValidatorTest : public ::testing::Test {
  protected:
    static constexpr std::size_t rows = 5000, columns = 3;

    ValidatorTest() {
        PhiloxStream random(11, RandomPurpose::test);
        for (std::size_t i = 0; i < rows * columns; ++i)
            inputs_.push_back(static_cast<float>(random.next_normal()));
        for (std::size_t row = 0; row < rows; ++row)
            targets_.push_back(row % 7 == 0 ? 0.5f : static_cast<float>(random.next_normal()));
        std::vector<mlp::TrainingSpec> members(3);
        for (std::size_t m = 0; m < members.size(); ++m)
            members[m].seed = m;
        const std::array<std::size_t, 1> hidden{4};
        networks_ =
            mlp::cpu_population(mlp::ModelDescription::default_network(columns, hidden, 0.2), members, 1);
        networks_->initialize();
    }
    mlp::Samples samples() const { return {inputs_.data(), columns, targets_.data(), rows}; }

    std::vector<float> inputs_, targets_;
    std::unique_ptr<mlp::Population> networks_;
};

TEST_F(ValidatorTest, CountsTheDirectionsOfRowsThatAreNotFlat) {
    const auto set = networks_->prepare(samples());
    const std::vector<double> shares = Validator(*networks_, samples(), 0.5).direction_accuracies();
    ASSERT_EQ(shares.size(), 3u);
    for (std::size_t m = 0; m < shares.size(); ++m) {
        std::size_t correct = 0, directed = 0;
        for (std::size_t row = 0; row < rows; ++row) {
            std::array<float, 1> output{};
            networks_->predict(m, *set, row, 1, output);
            directed += targets_[row] != 0.5f;
            correct += (targets_[row] > 0.5f && output[0] > 0) || (targets_[row] < 0.5f && output[0] <= 0);
        }
        EXPECT_EQ(shares[m], static_cast<double>(correct) / static_cast<double>(directed)) << m;
    }
}

TEST_F(ValidatorTest, AccuracyIsUnknownWithoutADirection) {
    targets_.assign(rows, 0.5f);
    for (const double share : Validator(*networks_, samples(), 0.5).direction_accuracies())
        EXPECT_TRUE(std::isnan(share));
}

TEST_F(ValidatorTest, LossIsTheMeanOverRows) {
    const auto set = networks_->prepare(samples());
    const std::vector<double> losses = Validator(*networks_, samples(), 0).losses();
    ASSERT_EQ(losses.size(), 3u);
    for (std::size_t m = 0; m < losses.size(); ++m) {
        double sum = 0; // of squared errors: the default loss
        for (std::size_t row = 0; row < rows; ++row) {
            std::array<float, 1> output{};
            networks_->predict(m, *set, row, 1, output);
            sum += std::pow(static_cast<double>(output[0]) - targets_[row], 2);
        }
        EXPECT_NEAR(losses[m], sum / rows, 1e-5 * losses[m]) << m;
    }
}

} // namespace
} // namespace rekindle::trainer
