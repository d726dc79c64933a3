#include <rekindle/base/clock.h>
#include <rekindle/foundation/error.h>
#include <rekindle/research/network_jobs.h>
#include <rekindle/trainer/importance.h>
#include <rekindle/trainer/row_orders.h>
#include <rekindle/trainer/slice_length.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <tuple>

namespace rekindle::research {

namespace {

std::vector<std::size_t> evenly_spaced(const std::vector<std::size_t>& rows, std::size_t most) {
    std::vector<std::size_t> chosen;
    const std::size_t count = std::min(rows.size(), most);
    for (std::size_t i = 0; i < count; ++i)
        chosen.push_back(rows[rows.size() * i / count]);
    return chosen;
}

/// One call of train_networks().
class JobTrainer {
  public:
    JobTrainer(mlp::Population& population, const FoldBlock& block, std::span<const NetworkJob> jobs,
               const JobSettings& settings)
        : population_(population), block_(block), jobs_(jobs), settings_(settings),
          samples_(population.prepare(block.samples())), pool_(settings.threads), order_of_(jobs.size()),
          orders_(jobs.size()), slices_(jobs.size()), losses_(jobs.size()), rows_(jobs.size()),
          diverged_(jobs.size()) {
        for (const NetworkJob& job : jobs)
            batches_.push_back((rows_of(job).train.size() + settings.batch_size - 1) / settings.batch_size);
    }

    /// False if the token asked to stop.
    bool run(const JobProgress& progress, const CancellationToken& cancellation);
    std::vector<NetworkResult> results();

  private:
    /// Members of the population that train at the same time.
    struct Group {
        std::size_t begin, end;
    };

    const FoldRows& rows_of(const NetworkJob& job) const { return block_.folds()[job.fold]; }
    bool run_group(Group group, const JobProgress& progress, const CancellationToken& cancellation);
    /// Members with the same rows and the same seed share one order.
    void share_orders(Group group);
    void shuffle(Group group, std::int64_t epoch);
    /// Trains batches [first, first + count) of the epoch.
    void train_slice(Group group, std::size_t first, std::size_t count);
    double mean_loss() const;
    std::vector<float> outputs_of(std::size_t member, RowRange rows) const;
    /// Predicts the test rows of all members.
    void predict(std::vector<NetworkResult>& results) const;
    std::vector<double> training_errors_of(std::size_t member) const;
    void measure_importance(std::size_t member, NetworkResult& result);

    mlp::Population& population_;
    const FoldBlock& block_;
    std::span<const NetworkJob> jobs_;
    const JobSettings& settings_;
    std::unique_ptr<mlp::SampleSet> samples_;
    ThreadPool pool_;
    std::vector<std::size_t> order_of_;              ///< per member: the member whose order it uses
    std::vector<std::vector<std::uint32_t>> orders_; ///< the row orders of this epoch; empty if not used
    std::vector<std::span<const std::uint32_t>> slices_;
    std::vector<std::size_t> batches_; ///< per member: batches in an epoch
    std::uint64_t done_ = 0;           ///< network-steps
    std::vector<double> losses_;       ///< per member: sum over its last epoch
    std::vector<std::size_t> rows_;    ///< per member: rows trained in this epoch
    std::vector<std::uint8_t> diverged_;
};

void JobTrainer::share_orders(Group group) {
    std::map<std::tuple<std::size_t, std::size_t, std::uint64_t>, std::size_t> first;
    for (std::size_t m = group.begin; m < group.end; ++m) {
        const RowRange train = rows_of(jobs_[m]).train;
        order_of_[m] = first.try_emplace({train.begin, train.end, jobs_[m].training.seed}, m).first->second;
    }
}

void JobTrainer::shuffle(Group group, std::int64_t epoch) {
    pool_.for_each(group.end - group.begin, [&](std::size_t i) {
        const std::size_t m = group.begin + i;
        losses_[m] = 0;
        rows_[m] = 0;
        if (order_of_[m] != m)
            return;
        const RowRange train = rows_of(jobs_[m]).train;
        orders_[m] = trainer::epoch_order(train.size(), jobs_[m].training.seed, epoch);
        for (std::uint32_t& row : orders_[m])
            row += static_cast<std::uint32_t>(train.begin);
    });
}

void JobTrainer::train_slice(Group group, std::size_t first, std::size_t count) {
    const std::size_t batch = settings_.batch_size;
    for (std::size_t m = group.begin; m < group.end; ++m) {
        const std::vector<std::uint32_t>& order = orders_[order_of_[m]];
        const std::size_t rows = order.size();
        const std::size_t begin = std::min(first * batch, rows),
                          end = std::min((first + count) * batch, rows);
        slices_[m] = diverged_[m] != 0 ? std::span<const std::uint32_t>()
                                       : std::span<const std::uint32_t>(order).subspan(begin, end - begin);
    }
    const auto results = population_.train(*samples_, slices_, batch);
    for (std::size_t m = group.begin; m < group.end; ++m) {
        slices_[m] = {};
        if (!results[m].finite)
            diverged_[m] = 1;
        losses_[m] += results[m].loss_sum;
        rows_[m] += results[m].rows;
    }
}

double JobTrainer::mean_loss() const {
    double loss = 0, rows = 0;
    for (std::size_t m = 0; m < jobs_.size(); ++m)
        if (diverged_[m] == 0) {
            loss += losses_[m];
            rows += static_cast<double>(rows_[m]);
        }
    return rows > 0 ? loss / rows : std::numeric_limits<double>::quiet_NaN();
}

bool JobTrainer::run(const JobProgress& progress, const CancellationToken& cancellation) {
    population_.initialize();
    // A GPU needs all networks at once. A CPU core trains one after the other, so that it finds the rows of
    // the network's fold in its cache.
    const bool on_cpu = population_.device().starts_with("cpu");
    const std::size_t together = on_cpu ? std::max<std::size_t>(1, settings_.threads) : jobs_.size();
    for (std::size_t begin = 0; begin < jobs_.size(); begin += together)
        if (!run_group({begin, std::min(begin + together, jobs_.size())}, progress, cancellation))
            return false;
    return true;
}

bool JobTrainer::run_group(Group group, const JobProgress& progress, const CancellationToken& cancellation) {
    const std::span<const std::size_t> batches =
        std::span(batches_).subspan(group.begin, group.end - group.begin);
    const std::size_t longest = std::ranges::max(batches);
    const std::uint64_t total = std::accumulate(batches_.begin(), batches_.end(), std::uint64_t{0}) *
                                static_cast<std::uint64_t>(settings_.epochs);
    trainer::SliceLength length(batches.size());
    share_orders(group);
    for (std::int64_t epoch = 0; epoch < settings_.epochs; ++epoch) {
        shuffle(group, epoch);
        for (std::size_t first = 0; first < longest;) {
            if (cancellation.requested())
                return false;
            const auto count = std::min<std::size_t>(length.batches(), longest - first);
            const auto start = std::chrono::steady_clock::now();
            train_slice(group, first, count);
            length.took(seconds_since(start));
            for (const std::size_t own : batches)
                done_ += std::min(first + count, own) - std::min(first, own);
            first += count;
            progress(done_, total, mean_loss());
        }
        population_.finish_accumulation();
    }
    return true;
}

std::vector<float> JobTrainer::outputs_of(std::size_t member, RowRange rows) const {
    std::vector<float> outputs(rows.size() * population_.model().outputs());
    population_.predict(member, *samples_, rows.begin, rows.size(), outputs);
    return outputs;
}

std::vector<double> JobTrainer::training_errors_of(std::size_t member) const {
    const FoldRows& fold = rows_of(jobs_[member]);
    const std::size_t width = population_.model().outputs();
    const std::vector<float> outputs = outputs_of(member, fold.sample);
    const auto targets = block_.targets(fold.sample);
    std::vector<double> squares(fold.instruments.size()), rows(squares.size());
    double all = 0;
    for (std::size_t i = 0; i < targets.size(); ++i) {
        const trainer::TargetMeaning& meaning = block_.meaning_of(fold, fold.sample.begin + i);
        const double error = meaning.outcome(targets[i]) - meaning.value(outputs[i * width]);
        squares[block_.instrument_of(fold.sample.begin + i)] += error * error;
        rows[block_.instrument_of(fold.sample.begin + i)] += 1;
        all += error * error;
    }
    std::vector<double> errors;
    for (std::size_t i = 0; i < squares.size(); ++i)
        errors.push_back(
            std::sqrt(rows[i] > 0 ? squares[i] / rows[i] : all / static_cast<double>(targets.size())));
    return errors;
}

void JobTrainer::measure_importance(std::size_t member, NetworkResult& result) {
    constexpr std::size_t most_rows = 4096;
    const FoldRows& fold = rows_of(jobs_[member]);
    const std::size_t width = population_.model().inputs;
    const std::vector<std::size_t> rows = evenly_spaced(block_.rows_with_target(fold.test), most_rows);
    if (rows.empty())
        return;
    // The population reads these values where they are, so they are shared.
    const auto values = std::make_shared<std::vector<float>>();
    std::vector<float> targets;
    for (const std::size_t row : rows) {
        const auto of_row = block_.inputs({row, row + 1});
        values->insert(values->end(), of_row.begin(), of_row.end());
        targets.push_back(block_.targets({row, row + 1}).front());
    }
    std::vector<float> outputs(rows.size() * population_.model().outputs());
    const auto loss = [&] {
        const auto samples =
            population_.prepare({values->data(), width, targets.data(), rows.size(), values});
        population_.predict(member, *samples, 0, rows.size(), outputs);
        return trainer::mean_output_loss(jobs_[member].training.loss, outputs, targets);
    };
    result.test_loss = loss();
    const std::vector<float> inputs = *values;
    const auto order =
        trainer::epoch_order(rows.size(), jobs_[member].training.seed, trainer::importance_epoch);
    for (const auto& columns : settings_.permuted) {
        for (std::size_t i = 0; i < rows.size(); ++i)
            for (const std::size_t column : columns)
                (*values)[i * width + column] = inputs[order[i] * width + column];
        result.permuted_losses.push_back(loss());
        for (std::size_t i = 0; i < rows.size(); ++i)
            for (const std::size_t column : columns)
                (*values)[i * width + column] = inputs[i * width + column];
    }
}

void JobTrainer::predict(std::vector<NetworkResult>& results) const {
    constexpr std::size_t most_numbers = std::size_t{1} << 24; // outputs predicted at a time
    const std::size_t width = population_.model().outputs();
    std::vector<float> outputs;
    for (std::size_t begin = 0, end = 0; begin < jobs_.size(); begin = end) {
        const RowRange rows = rows_of(jobs_[begin]).test;
        const std::size_t each = rows.size() * width,
                          most = std::max<std::size_t>(1, most_numbers / std::max<std::size_t>(1, each));
        for (end = begin + 1;
             end < jobs_.size() && end - begin < most && jobs_[end].fold == jobs_[begin].fold;)
            ++end;
        outputs.resize((end - begin) * each);
        population_.predict_members(begin, end - begin, *samples_, rows.begin, rows.size(), outputs);
        for (std::size_t m = begin; m < end; ++m)
            if (!results[m].diverged)
                results[m].outputs.assign(outputs.begin() + static_cast<std::ptrdiff_t>((m - begin) * each),
                                          outputs.begin() +
                                              static_cast<std::ptrdiff_t>((m - begin + 1) * each));
    }
}

std::vector<NetworkResult> JobTrainer::results() {
    std::vector<NetworkResult> results(jobs_.size());
    for (std::size_t m = 0; m < jobs_.size(); ++m) {
        NetworkResult& result = results[m];
        result.diverged = diverged_[m] != 0;
        if (result.diverged)
            continue;
        result.training_loss = losses_[m] / static_cast<double>(rows_[m]);
        if (settings_.training_errors)
            result.training_errors = training_errors_of(m);
        if (!settings_.permuted.empty())
            measure_importance(m, result);
    }
    predict(results);
    return results;
}

} // namespace

std::optional<std::vector<NetworkResult>> train_networks(mlp::Population& population, const FoldBlock& block,
                                                         std::span<const NetworkJob> jobs,
                                                         const JobSettings& settings,
                                                         const JobProgress& progress,
                                                         const CancellationToken& cancellation) {
    if (population.size() != jobs.size())
        throw internal_error("the population does not have one member for each job");
    JobTrainer job_trainer(population, block, jobs, settings);
    if (!job_trainer.run(progress, cancellation))
        return std::nullopt;
    return job_trainer.results();
}

} // namespace rekindle::research
