#include "validator.h"

#include <algorithm>
#include <span>

namespace rekindle::trainer {

namespace {

constexpr std::size_t prediction_block = 4096;                ///< rows
constexpr std::size_t max_predictions = std::size_t{1} << 22; ///< at a time, over all members

} // namespace

Validator::Validator(mlp::Population& population, const mlp::Samples& samples, double up_threshold)
    : population_(population), samples_(population.prepare(samples)), targets_(samples.targets),
      rows_(samples.count), up_threshold_(up_threshold) {}

std::vector<double> Validator::losses() const {
    std::vector<double> losses = population_.evaluate(*samples_, 0, rows_);
    for (double& loss : losses)
        loss /= static_cast<double>(rows_);
    return losses;
}

std::vector<double> Validator::direction_accuracies() {
    const std::size_t outputs = population_.model().outputs();
    const std::size_t block = std::min(prediction_block, rows_);
    const std::size_t together =
        std::clamp<std::size_t>(max_predictions / (block * outputs), 1, population_.size());
    std::vector<std::size_t> correct(population_.size());
    outputs_.resize(together * block * outputs);
    for (std::size_t member = 0; member < correct.size(); member += together)
        count_correct(member, std::min(together, correct.size() - member), correct);
    const auto flat =
        std::count_if(targets_, targets_ + rows_, [&](float target) { return target == up_threshold_; });
    const auto directed = static_cast<double>(rows_) - static_cast<double>(flat);
    std::vector<double> shares;
    shares.reserve(correct.size());
    for (const std::size_t rows : correct)
        shares.push_back(static_cast<double>(rows) / directed);
    return shares;
}

void Validator::count_correct(std::size_t first_member, std::size_t members,
                              std::vector<std::size_t>& correct) {
    const std::size_t outputs = population_.model().outputs();
    const std::size_t block = std::min(prediction_block, rows_);
    for (std::size_t first = 0; first < rows_; first += block) {
        const std::size_t rows = std::min(block, rows_ - first);
        population_.predict_members(first_member, members, *samples_, first, rows,
                                    std::span(outputs_).first(members * rows * outputs));
        for (std::size_t i = 0; i < members * rows; ++i) {
            const double target = targets_[first + i % rows];
            correct[first_member + i / rows] +=
                target != up_threshold_ && (outputs_[i * outputs] > 0) == (target > up_threshold_);
        }
    }
}

} // namespace rekindle::trainer
