#include "product_tuning.h"

#include "../../device/log.h"

#include <rekindle/foundation/environment.h>
#include <rekindle/runtime/tuning.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/util/Exception.h>
#include <cmath>
#include <iomanip>
#include <memory>
#include <mutex>
#include <sstream>
#include <unordered_map>

namespace rvk {

namespace {

constexpr int most_measured =
    512;                         // per process: a program whose sizes change all the time is not slowed down
constexpr double warm_up = 0.06; // seconds of work before the first measurement: an idle GPU is slow
constexpr std::int64_t most_numbers = std::int64_t{1}
                                      << 28; // of a result that is computed twice for comparison

/// The largest difference, relative to the largest result, that another order of summation can cause.
double tolerance(const ProductShape& shape) {
    const double rounding = shape.dtype == at::kHalf ? 0x1p-10 : shape.dtype == at::kBFloat16 ? 0x1p-7 : 0;
    return 2 * rounding + 0x1p-22 * std::sqrt(static_cast<double>(shape.k)) * 8;
}

class Tuner {
  public:
    explicit Tuner(DeviceIndex index)
        : index_(index), store_(device(index).info(), runtime::default_cache_folder()) {
        if (const std::string problem = store_.problem(); !problem.empty())
            TORCH_WARN("REKINDLE_AUTOTUNE: ", problem, "; products are measured again");
    }

    ProductPlan plan(const ProductShape& shape, const std::string& layouts,
                     const std::function<void(const ProductPlan&, const at::Tensor&)>& multiply) {
        const std::lock_guard lock(mutex_);
        const std::string key = key_of(shape, layouts);
        if (const auto known = plans_.find(key); known != plans_.end())
            return known->second;
        const std::vector<ProductPlan> plans = possible_plans(shape);
        ProductPlan chosen = plans.front();
        const auto stored = store_.find(key);
        const auto same =
            stored
                ? std::ranges::find_if(plans, [&](const ProductPlan& one) { return one.name() == *stored; })
                : plans.end();
        if (same != plans.end())
            chosen = *same;
        else if (measured_ < most_measured && shape.batch * shape.m * shape.n <= most_numbers)
            chosen = measure(key, shape, plans, multiply).value_or(chosen);
        plans_.emplace(key, chosen);
        return chosen;
    }

  private:
    static std::string key_of(const ProductShape& shape, const std::string& layouts) {
        return std::string(c10::toString(shape.dtype)) + " " + std::to_string(shape.batch) + " x " +
               std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" + std::to_string(shape.k) + " " +
               layouts;
    }

    std::optional<ProductPlan>
    measure(const std::string& key, const ProductShape& shape, const std::vector<ProductPlan>& plans,
            const std::function<void(const ProductPlan&, const at::Tensor&)>& multiply) {
        ++measured_;
        try {
            const auto options = at::TensorOptions().device(shape.device).dtype(shape.dtype);
            const at::Tensor expected = at::empty({shape.batch, shape.m, shape.n}, options);
            const at::Tensor result = at::empty_like(expected);
            multiply(plans.front(), expected);
            const double largest = expected.abs().max().item<double>();
            if (!std::isfinite(largest))
                return std::nullopt;
            std::vector<runtime::Candidate> candidates;
            for (const ProductPlan& plan : plans)
                candidates.push_back({plan.name(), [&multiply, &plan, &result] { multiply(plan, result); },
                                      [&] {
                                          const double error =
                                              result.sub(expected).abs().max().item<double>();
                                          return error <= tolerance(shape) * largest;
                                      }});
            return plans[choose(key, candidates)];
        } catch (const c10::OutOfMemoryError&) {
            return std::nullopt;
        }
    }

    std::size_t choose(const std::string& key, const std::vector<runtime::Candidate>& candidates) {
        runtime::Stream& stream = current_stream(index_);
        if (!warm_)
            runtime::device_seconds(stream, candidates.front().queue, warm_up);
        warm_ = true;
        const runtime::Choice choice = runtime::fastest(candidates, [&](const runtime::Candidate& one) {
            return runtime::device_seconds(stream, one.queue);
        });
        for (const std::size_t i : choice.wrong)
            TORCH_WARN_ONCE("REKINDLE_AUTOTUNE: on ", device(index_).info().name, " the product ", key,
                            " in tiles ", candidates[i].name,
                            " is wrong; it is not used there. Please report this.");
        store_.keep(key, candidates[choice.index].name);
        if (is_logging()) {
            std::ostringstream line;
            line << std::fixed << std::setprecision(1) << "tuned " << key << ": "
                 << candidates[choice.index].name << ';';
            for (std::size_t i = 0; i < candidates.size(); ++i)
                line << ' ' << candidates[i].name << ' ' << 1e6 * choice.seconds[i] << " us";
            print_line(line.str());
        }
        return choice.index;
    }

    DeviceIndex index_;
    std::mutex mutex_;
    runtime::TuningStore store_;
    std::unordered_map<std::string, ProductPlan> plans_;
    int measured_ = 0;
    bool warm_ = false;
};

/// Never destroyed: products may run until the process has ended.
Tuner& tuner(DeviceIndex index) {
    static std::mutex mutex;
    static auto* const tuners = new std::unordered_map<DeviceIndex, std::unique_ptr<Tuner>>;
    const std::lock_guard lock(mutex);
    auto& one = (*tuners)[index];
    if (!one)
        one = std::make_unique<Tuner>(index);
    return *one;
}

} // namespace

bool tunes_products() {
    static const bool asked = rekindle::switched_on("REKINDLE_AUTOTUNE");
    return asked;
}

ProductPlan tuned_plan(const ProductShape& shape, const std::string& layouts,
                       const std::function<void(const ProductPlan&, const at::Tensor& c)>& multiply) {
    return tuner(shape.device.index()).plan(shape, layouts, multiply);
}

} // namespace rvk
