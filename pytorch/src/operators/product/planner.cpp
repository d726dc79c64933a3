#include "planner.h"

#include "../../device/log.h"

#include <rekindle/products/tuner.h>

#include <ATen/Context.h>
#include <ATen/ops/empty_like.h>
#include <array>
#include <atomic>
#include <c10/util/Exception.h>
#include <cmath>
#include <memory>
#include <mutex>

namespace rvk {

namespace {

void log(rekindle::LogLevel level, std::string_view text) {
    if (level >= rekindle::LogLevel::warning) {
        TORCH_WARN(std::string(text));
    } else {
        log_line(text);
    }
}

/// The planner and the tuner of one device. Never destroyed, because operators may be called until the
/// process ends.
struct Plans {
    products::Planner planner;
    products::Tuner tuner;

    explicit Plans(DeviceIndex index)
        : planner(products::Planner::calibrated(device(index), log)), tuner(device(index).info(), log) {}
};

Plans& plans(DeviceIndex index) {
    constexpr std::size_t most_devices = 64; // PyTorch's own limit
    static std::array<std::atomic<Plans*>, most_devices> all{};
    static std::mutex mutex;
    std::atomic<Plans*>& one = all.at(static_cast<std::size_t>(index));
    if (Plans* const made = one.load(std::memory_order_acquire))
        return *made;
    const std::lock_guard lock(mutex);
    if (one.load() == nullptr)
        one.store(new Plans(index), std::memory_order_release);
    return *one.load();
}

bool is_finite(const at::Tensor& tensor) {
    return std::isfinite(tensor.abs().max().item<double>());
}

/// The candidates for runtime::fastest; empty if the default's results are not finite, or if there is no
/// memory to compare others with them.
std::vector<runtime::Candidate> candidates_of(const TunedWork& work) {
    try {
        work.run(0);
        auto expected = std::make_shared<std::vector<at::Tensor>>();
        for (const at::Tensor& result : work.results) {
            if (!is_finite(result))
                return {};
            expected->push_back(result.clone());
        }
        const auto is_right = [&work, expected] {
            for (std::size_t i = 0; i < expected->size(); ++i) {
                const at::Tensor& right = (*expected)[i];
                const double error = work.results[i].sub(right).abs().max().item<double>();
                if (!(error <= work.tolerance * right.abs().max().item<double>()))
                    return false;
            }
            return true;
        };
        std::vector<runtime::Candidate> candidates;
        for (std::size_t i = 0; i < work.names.size(); ++i)
            candidates.push_back({work.names[i], [&work, i] { work.run(i); }, is_right});
        return candidates;
    } catch (const c10::OutOfMemoryError&) {
        return {};
    }
}

} // namespace

bool may_sum_in_half() {
    return at::globalContext().allowFP16AccumulationCuBLAS();
}

products::ElementType element_type(at::ScalarType dtype) {
    switch (dtype) {
    case at::kFloat:
        return products::ElementType::float32;
    case at::kHalf:
        return products::ElementType::float16;
    case at::kBFloat16:
        return products::ElementType::bfloat16;
    case at::kDouble:
        return products::ElementType::float64;
    default:
        return products::ElementType::int64;
    }
}

const products::Planner& planner(DeviceIndex index) {
    return plans(index).planner;
}

std::string key_of(const products::ConvolutionShape& shape) {
    constexpr const char* passes[] = {"forward", "input gradient", "weight gradient"};
    const auto text = [](std::int64_t number) { return std::to_string(number); };
    return std::string(products::name(shape.type)) + " convolution, " +
           passes[static_cast<std::size_t>(shape.pass)] + ", " + text(shape.groups) + " x " + text(shape.m) +
           "x" + text(shape.n) + "x" + text(shape.k) + ", " + text(shape.channels) + " channels, " +
           text(shape.taps) + " taps";
}

bool is_tuned(const std::vector<at::Tensor>& results) {
    constexpr std::int64_t most_numbers = std::int64_t{1} << 28;
    std::int64_t numbers = 0;
    for (const at::Tensor& result : results)
        numbers += result.numel();
    return products::tuning_is_on() && numbers <= most_numbers && numbers > 0;
}

std::size_t tuned(const TunedWork& work) {
    const DeviceIndex index = work.results.front().device().index();
    return plans(index).tuner.choose(current_stream(index), work.key, work.names,
                                     [&] { return candidates_of(work); });
}

double sum_tolerance(at::ScalarType dtype, std::int64_t length) {
    const double of_half = may_sum_in_half() ? 0x1p-8 : 0x1p-10;
    const double rounding = dtype == at::kHalf ? of_half : dtype == at::kBFloat16 ? 0x1p-7 : 0;
    return 2 * rounding + 0x1p-22 * std::sqrt(static_cast<double>(length)) * 8;
}

} // namespace rvk
