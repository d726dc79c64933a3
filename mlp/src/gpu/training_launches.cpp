#include "gpu/training_launches.h"

#include "gpu/launch.h"
#include "population/check.h"

#include <rekindle/base/clock.h>
#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/kernels/families/population.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

namespace rekindle::mlp::gpu {

namespace {

constexpr std::size_t many_rows = std::size_t{1} << 18;           ///< copying this many takes a while
constexpr std::size_t loss_bytes = loss_sums * 2 * sizeof(float); ///< per member
constexpr std::size_t never = 0xFFFFFFFF; ///< batches of an accumulation that never ends

} // namespace

/// The data that the launches of one call share.
struct TrainingLaunches::Call {
    const GpuSamples* samples;
    const TrainingTables& tables;
    std::size_t accumulation_steps;
    bool finish;
    runtime::Buffer members, schedule, order, results, losses;
    runtime::Buffer host_results; ///< a copy of the last launch's results
    /// In the order of Array, for the call's first member; null if the training has no such array.
    std::array<runtime::DevicePointer, array_count> arrays{};

    /// Number of network batches in a part.
    double network_batches(const Part& part, std::size_t batch_size) const {
        double sum = 0;
        for (std::size_t m = part.first_member; m < part.first_member + part.members; ++m) {
            const std::size_t all = batches_of(tables.members[m].rows, batch_size);
            sum += static_cast<double>(std::min(part.batches, all - std::min(all, part.first_batch)));
        }
        return sum;
    }
};

namespace {

/// Copies the rows and finds the largest in one pass, because the host does this before every call, for up to
/// millions of rows.
std::uint32_t copy_rows(std::span<const std::uint32_t> from, std::span<std::uint32_t> to) {
    std::uint32_t largest = 0;
    for (std::size_t i = 0; i < from.size(); ++i) {
        largest = std::max(largest, from[i]);
        to[i] = from[i];
    }
    return largest;
}

/// Mesa 22.3's lavapipe silently ends every loop of an invocation once that invocation has run 65,535
/// iterations in all its loops. A batch runs fewer than the bound below: one per multiply-add of a thread and
/// a few per row of its blocks.
std::size_t most_batches(const runtime::DeviceInfo& device, const GpuPlan& plan, double work_per_batch) {
    if (device.type != runtime::DeviceType::cpu)
        return std::numeric_limits<std::uint32_t>::max();
    const double iterations =
        work_per_batch / plan.threads + 16.0 * static_cast<double>(plan.blocks) * plan.block_rows;
    return static_cast<std::size_t>(std::max(1.0, 60'000 / iterations));
}

} // namespace

TrainingLaunches::TrainingLaunches(runtime::Device& device, runtime::Stream& stream, MemberArrays& arrays,
                                   GpuPlan plan, std::vector<StageDropouts> dropouts, std::size_t batch_size,
                                   double work_per_batch)
    : device_(device), stream_(stream), arrays_(arrays), plan_(std::move(plan)),
      dropouts_(std::move(dropouts)), batch_size_(batch_size), train_(kernel_named(plan_.train_kernel)),
      budget_(work_per_batch), most_batches_(most_batches(device.info(), plan_, work_per_batch)) {
    if (plan_.pending)
        arrays_.require(Array::pending);
    if (plan_.transposed_floats > 0)
        transposed_ = device_.allocator().allocate(dropouts_.size() * plan_.transposed_floats * sizeof(float),
                                                   runtime::MemoryKind::device, &stream_);
}

kernels::PopulationParameters TrainingLaunches::parameters_of(const Call& call, const Part& part) const {
    const auto pointer = [&](Array array) {
        const runtime::DevicePointer first = call.arrays[static_cast<std::size_t>(array)];
        return first ? (first + part.first_member * arrays_.member_bytes()).address : 0;
    };
    kernels::PopulationParameters p{};
    if (call.samples) {
        p.inputs = call.samples->inputs().pointer().address;
        p.targets = call.samples->targets().pointer().address;
    }
    p.order = call.order.pointer().address;
    p.members = (call.members.pointer() + part.first_member * sizeof(MemberRecord)).address;
    p.schedule = call.schedule.pointer().address;
    p.results = (call.results.pointer() + part.first_member * sizeof(ResultRecord)).address;
    p.losses = (call.losses.pointer() + part.first_member * loss_bytes).address;
    p.values = pointer(Array::parameters);
    p.first_moment = pointer(Array::first_moment);
    p.second_moment = pointer(Array::second_moment);
    p.average = pointer(Array::average);
    p.pending = pointer(Array::pending);
    if (transposed_)
        p.transposed = (transposed_.pointer() + part.first_member * transposed_bytes()).address;
    p.member_count = static_cast<std::uint32_t>(part.members);
    p.batch_size = static_cast<std::uint32_t>(batch_size_);
    p.accumulation_steps = static_cast<std::uint32_t>(call.accumulation_steps);
    p.first_batch = static_cast<std::uint32_t>(part.first_batch);
    p.batches = static_cast<std::uint32_t>(part.batches);
    p.finish = call.finish ? 1 : 0;
    return p;
}

std::vector<runtime::Access> TrainingLaunches::accesses_of(const Call& call, const Part& part) const {
    std::vector<runtime::Access> accesses{runtime::reads(call.order), runtime::reads(call.members),
                                          runtime::reads(call.schedule), runtime::writes(call.results),
                                          runtime::writes(call.losses)};
    if (call.samples) {
        accesses.push_back(runtime::reads(call.samples->inputs()));
        accesses.push_back(runtime::reads(call.samples->targets()));
    }
    const auto add = [&](runtime::DevicePointer first, std::uint64_t member_bytes) {
        if (first)
            accesses.push_back({first + part.first_member * member_bytes, part.members * member_bytes, true});
    };
    for (const runtime::DevicePointer array : call.arrays)
        add(array, arrays_.member_bytes());
    if (transposed_)
        add(transposed_.pointer(), transposed_bytes());
    return accesses;
}

void TrainingLaunches::launch(Call& call, const Part& part) {
    // Compile time must not count toward the measured duration of a launch.
    if (!train_is_prepared_)
        device_.prepare(train_, plan_.constants);
    train_is_prepared_ = true;
    const kernels::PopulationParameters parameters = parameters_of(call, part);
    const double work = call.network_batches(part, batch_size_);
    const auto start = std::chrono::steady_clock::now();
    stream_.launch(train_, groups_of(part.members), std::as_bytes(std::span(&parameters, 1)),
                   accesses_of(call, part), plan_.constants, budget_.seconds(work));
    if (part.first_batch + part.batches >= call.tables.largest_batches) {
        const std::uint64_t offset = part.first_member * sizeof(ResultRecord);
        stream_.copy(call.host_results.pointer() + offset, call.results.pointer() + offset,
                     part.members * sizeof(ResultRecord));
    }
    stream_.synchronize();
    budget_.measured(work, seconds_since(start));
}

std::uint32_t TrainingLaunches::copy_orders(const TrainingTables& tables, std::span<std::uint32_t> to) {
    std::vector<std::uint32_t> largest(tables.orders.size());
    const auto copy = [&](std::size_t i) {
        const TrainingTables::Order& order = tables.orders[i];
        largest[i] = copy_rows(order.rows, to.subspan(order.first));
    };
    if (tables.row_count > many_rows) {
        if (!pool_)
            pool_ = std::make_unique<ThreadPool>();
        pool_->for_each(tables.orders.size(), copy);
    } else {
        for (std::size_t i = 0; i < tables.orders.size(); ++i)
            copy(i);
    }
    return population::largest_of(largest);
}

runtime::Buffer TrainingLaunches::uploaded_orders(const TrainingTables& tables, std::size_t rows) {
    const std::size_t bytes = tables.row_count * sizeof(std::uint32_t);
    runtime::Buffer orders = device_.allocator().allocate(bytes, runtime::MemoryKind::device, &stream_);
    if (bytes == 0)
        return orders;
    const runtime::Buffer staging =
        device_.allocator().allocate(bytes, runtime::MemoryKind::upload, &stream_);
    population::check_row(copy_orders(tables, staging.host_as<std::uint32_t>()), rows);
    stream_.copy(orders.pointer(), staging.pointer(), bytes);
    return orders;
}

/// Uploads the tables and zeroes the results. The arrays are those of member `first_member`.
TrainingLaunches::Call TrainingLaunches::begin(const GpuSamples* samples, const TrainingTables& tables,
                                               std::size_t accumulation_steps, bool finish,
                                               std::size_t first_member) {
    const auto zeroed = [&](std::size_t bytes) {
        runtime::Buffer buffer = device_.allocator().allocate(bytes, runtime::MemoryKind::device, &stream_);
        stream_.fill(buffer.pointer(), bytes, 0);
        return buffer;
    };
    const std::size_t members = tables.members.size();
    std::vector<MemberRecord> records = tables.members;
    for (std::size_t m = 0; m < members; ++m) {
        const StageDropouts& dropouts = dropouts_.at(first_member + m);
        std::ranges::copy(dropouts.thresholds, records[m].dropout_thresholds);
        std::ranges::copy(dropouts.scales, records[m].dropout_scales);
    }
    Call call{.samples = samples,
              .tables = tables,
              .accumulation_steps = accumulation_steps,
              .finish = finish,
              .members = uploaded<MemberRecord>(device_, stream_, records),
              .schedule = uploaded<StepRecord>(device_, stream_, tables.steps),
              .order = uploaded_orders(tables, samples != nullptr ? samples->count() : 0),
              .results = zeroed(members * sizeof(ResultRecord)),
              .losses = zeroed(members * loss_bytes),
              .host_results = device_.allocator().allocate(members * sizeof(ResultRecord),
                                                           runtime::MemoryKind::readback, &stream_)};
    for (std::size_t a = 0; a < array_count; ++a)
        call.arrays[a] = arrays_.at(static_cast<Array>(a), first_member);
    if (tables.row_count > many_rows && !budget_.is_measured())
        stream_.synchronize(); // long copies must not count toward the first launch
    return call;
}

std::vector<ResultRecord> TrainingLaunches::train(const GpuSamples* samples, const TrainingTables& tables,
                                                  std::size_t accumulation_steps, bool finish) {
    const std::size_t members = tables.members.size();
    Call call = begin(samples, tables, accumulation_steps, finish, 0);
    std::size_t batch = 0;
    do {
        const std::size_t batches =
            std::min(most_batches_, budget_.part(members, tables.largest_batches - batch).batches);
        for (std::size_t first = 0; first < members;) {
            const std::size_t count = budget_.part(members - first, batches).members;
            launch(call, {first, count, batch, batches});
            first += count;
        }
        batch += batches;
    } while (batch < tables.largest_batches);
    const auto results = call.host_results.host_as<ResultRecord>().first(members);
    for (std::size_t m = 0; m < members; ++m)
        if (results[m].stopped == 0 && results[m].batches != batches_of(tables.members[m].rows, batch_size_))
            throw Error(device_.info().address() + " (" + device_.info().name + ") did only " +
                        std::to_string(results[m].batches) + " of " +
                        counted(batches_of(tables.members[m].rows, batch_size_), "batch", "batches"))
                .hint("Its driver ends loops early. Use a newer driver, or --device cpu.");
    return {results.begin(), results.end()};
}

std::vector<float> TrainingLaunches::gradients(const GpuSamples& samples, std::size_t member,
                                               const TrainingTables& tables) {
    const runtime::Buffer pending =
        device_.allocator().allocate(arrays_.member_bytes(), runtime::MemoryKind::device, &stream_);
    stream_.fill(pending.pointer(), arrays_.member_bytes(), 0);
    Call call = begin(&samples, tables, never, false, member); // the gradient stays pending
    call.arrays[static_cast<std::size_t>(Array::pending)] = pending.pointer();
    launch(call, {0, 1, 0, 1});
    std::vector<float> values = arrays_.read(pending.pointer());
    if (call.host_results.host_as<ResultRecord>().front().stopped != 0)
        std::ranges::fill(values, std::numeric_limits<float>::quiet_NaN());
    return values;
}

} // namespace rekindle::mlp::gpu
