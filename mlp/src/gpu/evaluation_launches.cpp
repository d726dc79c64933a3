#include "gpu/evaluation_launches.h"

#include "gpu/launch.h"

#include <rekindle/base/clock.h>
#include <rekindle/kernels/ceil_div.h>
#include <rekindle/kernels/families/population_evaluate.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace rekindle::mlp::gpu {

namespace {

constexpr std::size_t chunk_rows = 256;
constexpr std::size_t most_output_bytes = std::size_t{1} << 26; ///< per launch

/// Multiply-adds of one chunk: the forward pass is a third of a step.
double work_of_chunk(const GpuPlan& plan, std::size_t planned_rows) {
    return plan.work_per_step / 3 * static_cast<double>(chunk_rows) / static_cast<double>(planned_rows);
}

} // namespace

EvaluationLaunches::EvaluationLaunches(runtime::Device& device, runtime::Stream& stream,
                                       const MemberArrays& arrays, GpuPlan plan, std::size_t planned_rows,
                                       std::size_t members, double huber_delta, std::size_t outputs)
    : device_(device), stream_(stream), arrays_(arrays), plan_(std::move(plan)), members_(members),
      outputs_(outputs), kernel_(kernel_named(plan_.evaluate_kernel)),
      budget_(work_of_chunk(plan_, planned_rows)) {
    MemberRecord record;
    record.huber_delta = static_cast<float>(huber_delta);
    records_ = uploaded<MemberRecord>(device_, stream_, std::vector(members_, record));
    device_.prepare(kernel_, plan_.constants);
}

/// Calls run(part) for parts that together cover all rows of all members; chunks always begin at the same
/// rows.
template <class Run>
void EvaluationLaunches::for_each_part(std::size_t first_member, std::size_t members, std::size_t first_row,
                                       std::size_t rows, std::size_t most_chunks, const Run& run) {
    const auto limited = [&](std::size_t requested_members, std::size_t requested_chunks) {
        LaunchBudget::Part part = budget_.part(requested_members, requested_chunks);
        part.members = std::min(part.members, most_chunks);
        part.batches = std::min(part.batches, std::max<std::size_t>(1, most_chunks / part.members));
        return part;
    };
    const std::size_t all_chunks = kernels::ceil_div(rows, chunk_rows);
    for (std::size_t chunk = 0; chunk < all_chunks;) {
        const std::size_t chunks = limited(members, all_chunks - chunk).batches;
        const std::size_t begin = chunk * chunk_rows, end = std::min(rows, begin + chunks * chunk_rows);
        for (std::size_t m = 0; m < members;) {
            const std::size_t count = limited(members - m, chunks).members;
            run(Part{first_member + m, count, first_row + begin, end - begin, chunks});
            m += count;
        }
        chunk += chunks;
    }
}

void EvaluationLaunches::launch(const Part& part, const GpuSamples& samples, Array weights,
                                const runtime::Buffer* results, const runtime::Buffer* outputs) {
    kernels::PopulationEvaluateParameters p{};
    std::vector<runtime::Access> accesses{
        runtime::reads(samples.inputs()),
        runtime::reads(records_),
        {arrays_.at(weights, part.first_member), part.members * arrays_.member_bytes(), false}};
    p.inputs = samples.inputs().pointer().address;
    p.members = records_.pointer().address;
    p.values = arrays_.at(weights, part.first_member).address;
    if (results) {
        p.targets = samples.targets().pointer().address;
        p.results = results->pointer().address;
        accesses.push_back(runtime::reads(samples.targets()));
        accesses.push_back(runtime::writes(*results));
    }
    if (outputs) {
        p.outputs = outputs->pointer().address;
        accesses.push_back(runtime::writes(*outputs));
    }
    p.member_count = static_cast<std::uint32_t>(part.members);
    p.first_row = static_cast<std::uint32_t>(part.first_row);
    p.row_count = static_cast<std::uint32_t>(part.rows);
    p.chunk_rows = static_cast<std::uint32_t>(chunk_rows);
    p.chunks = static_cast<std::uint32_t>(part.chunks);
    const auto work = static_cast<double>(part.members * part.chunks);
    const auto start = std::chrono::steady_clock::now();
    stream_.launch(kernel_, groups_of(part.members * part.chunks), std::as_bytes(std::span(&p, 1)), accesses,
                   plan_.constants, budget_.seconds(work));
    stream_.synchronize();
    budget_.measured(work, seconds_since(start));
}

std::vector<double> EvaluationLaunches::losses(const GpuSamples& samples, Array weights, std::size_t first,
                                               std::size_t count) {
    std::vector<double> sums(members_);
    std::vector<EvaluationRecord> parts;
    const std::size_t most_chunks = most_output_bytes / sizeof(EvaluationRecord);
    for_each_part(0, members_, first, count, most_chunks, [&](const Part& part) {
        parts.resize(part.members * part.chunks);
        const runtime::Buffer results = device_.allocator().allocate(parts.size() * sizeof(EvaluationRecord),
                                                                     runtime::MemoryKind::device, &stream_);
        launch(part, samples, weights, &results, nullptr);
        stream_.download(std::as_writable_bytes(std::span(parts)), results.pointer());
        for (std::size_t i = 0; i < parts.size(); ++i)
            sums[part.first_member + i / part.chunks] +=
                static_cast<double>(parts[i].loss_high) + static_cast<double>(parts[i].loss_low);
    });
    return sums;
}

void EvaluationLaunches::predict(const GpuSamples& samples, Array weights, std::size_t first_member,
                                 std::size_t members, std::size_t first, std::size_t count,
                                 std::span<float> outputs) {
    std::vector<float> values;
    const std::size_t most_chunks =
        std::max<std::size_t>(1, most_output_bytes / (chunk_rows * outputs_ * sizeof(float)));
    for_each_part(first_member, members, first, count, most_chunks, [&](const Part& part) {
        const std::size_t each = part.rows * outputs_;
        values.resize(part.members * each);
        const runtime::Buffer buffer = device_.allocator().allocate(values.size() * sizeof(float),
                                                                    runtime::MemoryKind::device, &stream_);
        launch(part, samples, weights, nullptr, &buffer);
        stream_.download(std::as_writable_bytes(std::span(values)), buffer.pointer());
        for (std::size_t m = 0; m < part.members; ++m)
            std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(m * each), each,
                        outputs.begin() +
                            static_cast<std::ptrdiff_t>(
                                ((part.first_member + m - first_member) * count + part.first_row - first) *
                                outputs_));
    });
}

} // namespace rekindle::mlp::gpu
