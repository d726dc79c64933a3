#include "gpu/tables.h"

#include "population/check.h"

#include <rekindle/base/hash.h>
#include <rekindle/foundation/error.h>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <iterator>
#include <limits>
#include <unordered_map>
#include <utility>

namespace rekindle::mlp::gpu {

namespace {

/// The settings and state that determine the scalars of a member's steps.
using StepKey = std::array<std::uint64_t, 12>;

StepKey key_of(const TrainingSpec& spec, const cpu::Progress& progress) {
    const OptimizerSpec& o = spec.optimizer;
    const ScheduleSpec& s = spec.schedule;
    const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
    return {static_cast<std::uint64_t>(o.kind),
            bits(o.learning_rate),
            bits(o.weight_decay),
            bits(o.beta1),
            bits(o.beta2),
            static_cast<std::uint64_t>(s.kind),
            s.warmup_steps,
            s.total_steps,
            progress.steps,
            bits(progress.beta1_power),
            bits(progress.beta2_power),
            bits(progress.plateau.factor)};
}

struct HashOfKey {
    std::size_t operator()(const StepKey& key) const { return hash128(std::as_bytes(std::span(key))).low; }
};

/// Collects the distinct tables of steps. Refers to the members and their progress.
class StepTables {
  public:
    /// Adds the next member, which does `steps` steps.
    void add(const TrainingSpec& spec, const cpu::Progress& progress, std::size_t steps) {
        const auto [found, is_new] = numbers_.try_emplace(key_of(spec, progress), tables_.size());
        if (is_new)
            tables_.push_back({&spec, &progress, 0});
        Table& table = tables_[found->second];
        table.steps = std::max(table.steps, steps);
        of_member_.push_back(found->second);
    }

    /// Concatenates all tables, and stores the beginning of each member's table in its record.
    void finish(TrainingTables& all) const {
        std::vector<std::uint32_t> first;
        for (const Table& table : tables_) {
            first.push_back(static_cast<std::uint32_t>(all.steps.size()));
            cpu::Progress progress = *table.progress;
            for (std::size_t step = 0; step < table.steps; ++step) {
                all.steps.push_back(record_of(*table.spec, progress));
                cpu::advance_step(*table.spec, progress);
            }
        }
        for (std::size_t m = 0; m < of_member_.size(); ++m)
            all.members[m].schedule_first = first[of_member_[m]];
    }

  private:
    struct Table {
        const TrainingSpec* spec;
        const cpu::Progress* progress;
        std::size_t steps;
    };

    static StepRecord record_of(const TrainingSpec& spec, const cpu::Progress& progress) {
        if (spec.optimizer.kind == OptimizerSpec::Kind::sgd)
            return {.step_size = cpu::sgd_step(spec, progress, 1).learning_rate};
        const cpu::AdamWStep step = cpu::adamw_step(spec, progress, 1);
        return {.step_size = step.step_size,
                .inverse_sqrt_correction = step.inverse_sqrt_correction,
                .decay = step.decay};
    }

    std::unordered_map<StepKey, std::size_t, HashOfKey> numbers_;
    std::vector<Table> tables_;
    std::vector<std::size_t> of_member_; ///< the table of each member
};

/// Collects the orders; memory that they share, even in part, is copied to the device only once.
class OrderTable {
  public:
    void add(std::span<const std::uint32_t> order) {
        if (!order.empty())
            windows_.push_back(order);
    }
    /// Lays out the orders in the tables.
    void finish(TrainingTables& tables) {
        const std::less<const std::uint32_t*> before; // also orders pointers into different arrays
        std::ranges::sort(windows_, [&](const auto& a, const auto& b) { return before(a.data(), b.data()); });
        for (const std::span<const std::uint32_t> window : windows_) {
            if (!tables.orders.empty()) {
                auto& rows = tables.orders.back().rows;
                const std::uint32_t* end = rows.data() + rows.size();
                if (before(window.data(), end)) {
                    if (before(end, window.data() + window.size()))
                        rows = {rows.data(), window.data() + window.size()};
                    continue;
                }
                tables.row_count += rows.size();
            }
            tables.orders.push_back({window, tables.row_count});
        }
        if (!tables.orders.empty())
            tables.row_count += tables.orders.back().rows.size();
        if (tables.row_count > std::numeric_limits<std::uint32_t>::max())
            throw usage_error("more than 4,294,967,295 rows in one call of a population");
    }
    /// The beginning of the order. Call after finish().
    static std::uint32_t first_of(const TrainingTables& tables, std::span<const std::uint32_t> order) {
        if (order.empty())
            return 0;
        const std::less<const std::uint32_t*> before;
        const auto after =
            std::ranges::upper_bound(tables.orders, order.data(), before,
                                     [](const TrainingTables::Order& o) { return o.rows.data(); });
        const TrainingTables::Order& holder = *std::prev(after);
        return static_cast<std::uint32_t>(holder.first +
                                          static_cast<std::size_t>(order.data() - holder.rows.data()));
    }

  private:
    std::vector<std::span<const std::uint32_t>> windows_;
};

MemberRecord record_of(const TrainingSpec& spec, const cpu::Progress& progress) {
    const cpu::AdamWStep adam = cpu::adamw_step(spec, progress, 1);
    MemberRecord record;
    record.seed_low = static_cast<std::uint32_t>(spec.seed);
    record.seed_high = static_cast<std::uint32_t>(spec.seed >> 32);
    record.batch_low = static_cast<std::uint32_t>(progress.batches);
    record.batch_high = static_cast<std::uint32_t>(progress.batches >> 32);
    record.pending_batches = static_cast<std::uint32_t>(progress.pending_batches);
    record.clip_norm = static_cast<float>(spec.clip_norm);
    record.huber_delta = static_cast<float>(spec.loss.huber_delta);
    record.one_minus_beta1 = adam.one_minus_beta1;
    record.beta2 = adam.beta2;
    record.one_minus_beta2 = adam.one_minus_beta2;
    record.epsilon = adam.epsilon;
    record.momentum = static_cast<float>(spec.optimizer.momentum);
    record.weight_decay = static_cast<float>(spec.optimizer.weight_decay);
    record.average_rate = static_cast<float>(1 - spec.ema_decay);
    return record;
}

float batch_scale(std::size_t rows, const TrainingSpec& spec) {
    return static_cast<float>(1.0 /
                              (static_cast<double>(rows) * static_cast<double>(spec.accumulation_steps)));
}

} // namespace

TrainingTables training_tables(std::span<const TrainingSpec> members, std::span<const cpu::Progress> progress,
                               RowOrders orders, std::size_t batch_size) {
    TrainingTables tables;
    StepTables steps;
    OrderTable rows;
    for (std::size_t m = 0; m < members.size(); ++m)
        rows.add(population::order_of(orders, m));
    rows.finish(tables);
    for (std::size_t m = 0; m < members.size(); ++m) {
        const TrainingSpec& spec = members[m];
        const auto order = population::order_of(orders, m);
        const std::size_t batches = batches_of(order.size(), batch_size);
        MemberRecord record = record_of(spec, progress[m]);
        record.order_first = OrderTable::first_of(tables, order);
        record.rows = static_cast<std::uint32_t>(order.size());
        const std::size_t last = order.size() - (batches > 0 ? (batches - 1) * batch_size : 0);
        record.batch_scale = batch_scale(batch_size, spec);
        record.last_batch_scale = batches > 0 ? batch_scale(last, spec) : 0;
        steps.add(spec, progress[m], (progress[m].pending_batches + batches) / spec.accumulation_steps);
        tables.largest_batches = std::max(tables.largest_batches, batches);
        tables.members.push_back(record);
    }
    steps.finish(tables);
    return tables;
}

TrainingTables pending_tables(std::span<const TrainingSpec> members,
                              std::span<const cpu::Progress> progress) {
    TrainingTables tables;
    StepTables steps;
    for (std::size_t m = 0; m < members.size(); ++m) {
        tables.members.push_back(record_of(members[m], progress[m]));
        steps.add(members[m], progress[m], 1);
    }
    steps.finish(tables);
    return tables;
}

} // namespace rekindle::mlp::gpu
