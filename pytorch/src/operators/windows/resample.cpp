#include "resample.h"

#include "../../dispatch/launch.h"

#include <rekindle/kernels/families/resample.h>
#include <rekindle/kernels/families/resample_float64.h>

#include <ATen/ops/empty.h>
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <span>

namespace rvk {

namespace {

/// Bytes on the device: a block, or a tensor if they are too many for one.
struct Uploaded {
    UploadedBlock block;
    at::Tensor tensor;

    /// Without the poison bit.
    std::uint64_t address() const {
        return tensor.defined() ? raw_address(tensor) : runtime::raw_address({block.address()});
    }
};
Uploaded upload(c10::Device device, const std::vector<std::byte>& bytes) {
    if (bytes.size() <= UploadedBlock::most_bytes)
        return {UploadedBlock(device.index(), std::span<const std::byte>(bytes)), {}};
    const at::Tensor host = at::empty({static_cast<std::int64_t>(bytes.size())}, at::kByte);
    std::memcpy(host.mutable_data_ptr(), bytes.data(), bytes.size());
    return {{}, host.to(device)};
}

} // namespace

AxisTable AxisTable::identity(std::int64_t size) {
    return of_places(size, [](std::int64_t i) { return i; });
}
AxisTable AxisTable::of_places(std::int64_t result_size,
                               const std::function<std::int64_t(std::int64_t)>& of) {
    AxisTable table;
    for (std::int64_t i = 0; i < result_size; ++i) {
        table.begin_place();
        table.add(of(i), 1);
    }
    return table;
}

AxisTable AxisTable::transposed(std::int64_t source_size) const {
    std::vector<std::vector<std::pair<std::uint32_t, double>>> rows(static_cast<std::size_t>(source_size));
    for (std::size_t i = 0; i < starts_.size(); ++i) {
        const std::size_t end = i + 1 < starts_.size() ? starts_[i + 1] : places_.size();
        for (std::size_t e = starts_[i]; e < end; ++e)
            rows[places_[e]].emplace_back(static_cast<std::uint32_t>(i), weights_[e]);
    }
    AxisTable table;
    for (const auto& row : rows) {
        table.begin_place();
        for (const auto& [place, weight] : row)
            table.add(place, weight);
    }
    return table;
}

void AxisTable::scale(double factor) {
    for (double& weight : weights_)
        weight *= factor;
}

std::pair<AxisTable, AxisTable> AxisTable::divided(std::int64_t most_entries) const {
    AxisTable parts, sums;
    for (std::size_t i = 0; i < starts_.size(); ++i) {
        const std::size_t end = i + 1 < starts_.size() ? starts_[i + 1] : places_.size();
        sums.begin_place();
        for (std::size_t e = starts_[i]; e < end; ++e) {
            if (static_cast<std::int64_t>(e - starts_[i]) % most_entries == 0) {
                sums.add(parts.size(), 1);
                parts.begin_place();
            }
            parts.add(places_[e], weights_[e]);
        }
    }
    return {std::move(parts), std::move(sums)};
}

std::uint32_t AxisTable::longest() const {
    std::uint32_t most = 0;
    for (std::size_t i = 0; i < starts_.size(); ++i)
        most = std::max(
            most, (i + 1 < starts_.size() ? starts_[i + 1] : static_cast<std::uint32_t>(places_.size())) -
                      starts_[i]);
    return most;
}

template <class Weight>
std::vector<std::byte> AxisTable::packed() const {
    const std::size_t words = starts_.size() + 1 + places_.size();
    const std::size_t first_weight = (words * sizeof(std::uint32_t) + 7) / 8 * 8;
    std::vector<std::byte> bytes(first_weight + weights_.size() * sizeof(Weight));
    std::vector<std::uint32_t> numbers = starts_;
    numbers.push_back(static_cast<std::uint32_t>(places_.size()));
    numbers.insert(numbers.end(), places_.begin(), places_.end());
    std::memcpy(bytes.data(), numbers.data(), numbers.size() * sizeof(std::uint32_t));
    const std::vector<Weight> weights(weights_.begin(), weights_.end());
    std::memcpy(bytes.data() + first_weight, weights.data(), weights.size() * sizeof(Weight));
    bytes.resize((bytes.size() + 7) / 8 * 8);
    return bytes;
}

namespace {

/// A table and the dimension that it applies to.
struct Along {
    std::int64_t dimension;
    const AxisTable* table;
};

/// Writes the sums of `source` along up to three dimensions (x, y and z) to `result`, in one launch.
void launch_sums(const at::Tensor& result, const at::Tensor& source, std::span<const Along> along) {
    std::array<std::int64_t, 43> words{};
    std::vector<std::int64_t> order(static_cast<std::size_t>(result.dim()));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return result.stride(a) < result.stride(b); });
    std::size_t dimensions = 0;
    for (const std::int64_t d : order) {
        const auto found = std::ranges::find(along, d, &Along::dimension);
        if (result.size(d) == 1 && found == along.end())
            continue;
        words[dimensions] = result.size(d);
        words[8 + dimensions] = result.stride(d);
        words[16 + dimensions] = source.stride(d);
        words[24 + dimensions] = found == along.end() ? 0 : found - along.begin() + 1;
        ++dimensions;
    }
    const auto dtype = result.scalar_type();
    const AxisTable none = AxisTable::identity(1);
    std::array<Uploaded, 3> uploaded;
    c10::SmallVector<Access, 5> accesses{reads(source), writes(result)};
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const bool given = axis < along.size();
        const AxisTable& table = given ? *along[axis].table : none;
        uploaded[axis] =
            upload(result.device(), dtype == at::kDouble ? table.packed<double>() : table.packed<float>());
        if (uploaded[axis].tensor.defined())
            accesses.push_back(reads(uploaded[axis].tensor));
        words[32 + axis] = static_cast<std::int64_t>(uploaded[axis].address());
        words[36 + axis] = table.size();
        words[40 + axis] = given ? source.stride(along[axis].dimension) : 0;
    }
    kernels::ResampleParameters p{};
    const UploadedBlock layout(result.device().index(), std::span<const std::int64_t>(words));
    p.layout = layout.address();
    p.result = address(result);
    p.source = address(source);
    p.count = static_cast<std::uint32_t>(result.numel());
    p.dimensions = static_cast<std::uint32_t>(dimensions);
    const kernels::ResampleConstants constants{.dtype = dtype_code(dtype)};
    const Groups groups = linear_groups(result.numel(), 256);
    launch(result.device(), dtype == at::kDouble ? kernels::resample_sum_float64 : kernels::resample_sum,
           groups, p, accesses, constants);
}

constexpr std::int64_t longest_sum = 16'384; ///< terms per thread

/// Iterations of the loops over z, y and x.
double iterations_of(std::span<const Along> along) {
    double iterations = 0;
    for (const Along& axis : along) // x is the innermost loop
        iterations = static_cast<double>(axis.table->longest()) * (1 + iterations);
    return iterations;
}

at::Tensor sums_along(const at::Tensor& source, const Along& along) {
    if (along.table->longest() > longest_sum) {
        const auto [parts, sums] = along.table->divided(longest_sum);
        return sums_along(sums_along(source, {along.dimension, &parts}), {along.dimension, &sums});
    }
    auto sizes = source.sizes().vec();
    sizes[static_cast<std::size_t>(along.dimension)] = along.table->size();
    at::Tensor result = at::empty(sizes, source.options());
    TORCH_CHECK_NOT_IMPLEMENTED(result.numel() < 0xff000000, "interpolation to 2^32 elements");
    if (result.numel() != 0)
        launch_sums(result, source, std::array{along});
    return result;
}

} // namespace

void resample(const at::Tensor& result, const at::Tensor& source, const std::vector<AxisTable>& tables) {
    const auto dtype = result.scalar_type();
    TORCH_CHECK_NOT_IMPLEMENTED(at::isFloatingType(dtype) && source.scalar_type() == dtype,
                                "interpolation of ", dtype);
    require_float64(dtype, result.device());
    TORCH_CHECK_NOT_IMPLEMENTED(result.numel() < 0xff000000 && result.dim() <= 8,
                                "interpolation to 2^32 elements");
    if (result.numel() == 0)
        return;
    std::vector<Along> along; // x first
    for (std::size_t axis = 0; axis < tables.size(); ++axis)
        along.push_back(
            {result.dim() - 1 - static_cast<std::int64_t>(axis), &tables[tables.size() - 1 - axis]});
    if (iterations_of(along) <= static_cast<double>(longest_sum)) {
        launch_sums(result, source, along);
        return;
    }
    // Long sums are computed one axis at a time.
    at::Tensor values = dtype == at::kDouble ? source : source.to(at::kFloat);
    for (const Along& axis : along)
        values = sums_along(values, axis);
    result.copy_(values);
}

} // namespace rvk
