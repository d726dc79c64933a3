/// Fused optimizers, and the gradient operations of GradScaler: a launch processes up to 1,024 parameters.

#include "../../dispatch/structured.h"
#include "../lib/tensor_list.h"

#include <rekindle/kernels/families/optimizer.h>

#include <ATen/core/Tensor.h>
#include <algorithm>
#include <cmath>
#include <torch/library.h>

namespace rvk {

namespace {

using at::TensorList;
using OptionalTensor = const std::optional<at::Tensor>&;
using Parameters = kernels::OptimizerParameters;

std::uint64_t address_or_zero(OptionalTensor tensor) {
    return tensor && tensor->defined() ? address(*tensor) : 0;
}

/// Splits a float64 into the sum of two float32 numbers.
void split(double value, float& high, float& low) {
    high = static_cast<float>(value);
    low = static_cast<float>(value - static_cast<double>(high));
}

/// The settings of a step, which all tensors share.
struct Step {
    Parameters parameters;
    std::vector<at::Tensor> read; ///< one-element tensors that the kernel reads
    kernels::OptimizerConstants constants;

    void reads_number(std::uint64_t& address_of, OptionalTensor tensor) {
        address_of = address_or_zero(tensor);
        if (address_of != 0)
            read.push_back(*tensor);
    }
    /// A learning rate in a tensor: uses its value if it is on the CPU, its address if it is on the device.
    void rate_of(const at::Tensor& rate) {
        if (rate.is_cpu()) {
            parameters.rate = static_cast<float>(rate.item<double>());
            return;
        }
        TORCH_CHECK_NOT_IMPLEMENTED(rate.scalar_type() == at::kFloat, "a learning rate of ",
                                    rate.scalar_type());
        reads_number(parameters.rate_at, rate);
    }
};

/// lists: parameters, gradients and up to three states, all modified; steps: one number per tensor, only
/// read.
void launch_lists(const kernels::TypedKernel<Parameters>& kernel, Step step,
                  std::span<const TensorList> lists, TensorList steps) {
    TensorTable<8> table;
    std::vector<Access> accesses;
    accesses.reserve(std::min(lists[1].size(), table.most_tensors) * (lists.size() + 1) + step.read.size());
    bool quads = true;
    const auto device = lists[1][0].device();
    const std::uint64_t quad_bytes = 4 * lists[1][0].element_size();
    step.constants.parameter_dtype = dtype_code(lists[1][0].scalar_type());
    const auto flush = [&] {
        if (table.tensors() != 0) {
            for (const at::Tensor& tensor : step.read)
                accesses.push_back(reads(tensor));
            Groups groups;
            const UploadedBlock words = table.upload(device.index(), groups);
            step.parameters.table = words.address();
            step.parameters.tensors = table.tensors();
            step.parameters.elements = table.elements_per_group();
            step.constants.quads = quads ? 1 : 0;
            launch(device, kernel, groups, step.parameters, accesses, step.constants);
        }
        table.clear();
        accesses.clear();
        quads = true;
    };
    for (std::size_t i = 0; i < lists[1].size(); ++i) {
        if (lists[1][i].numel() == 0)
            continue;
        const auto entry = table.add(static_cast<std::uint64_t>(lists[1][i].numel()));
        for (std::size_t k = 0; k < lists.size(); ++k)
            if (!lists[k].empty()) {
                const Access& access = accesses.emplace_back(writes(lists[k][i]));
                entry[2 + k] = runtime::raw_address(access.begin);
                quads = quads && entry[2 + k] % quad_bytes == 0;
            }
        if (!steps.empty())
            entry[7] = runtime::raw_address(accesses.emplace_back(reads(steps[i])).begin);
        if (table.full())
            flush();
    }
    flush();
}

void adam(const Step& common, bool decoupled, TensorList self, TensorList gradients, TensorList means,
          TensorList squares, TensorList largest, TensorList steps, double beta1, double beta2,
          double weight_decay, double epsilon, bool amsgrad, bool maximize) {
    if (self.empty())
        return;
    const TensorList kept = amsgrad ? largest : TensorList();
    TORCH_CHECK_NOT_IMPLEMENTED(
        fit_one_launch({self, gradients, means, squares, kept}),
        "parameters, gradients and states of different shapes, strides, dtypes or devices, "
        "or of a dtype other than float32, float16 and bfloat16");
    for (const at::Tensor& count : steps)
        TORCH_CHECK_NOT_IMPLEMENTED(count.scalar_type() == at::kFloat && count.device() == self[0].device(),
                                    "steps that are not float32 tensors on the device");
    Step step = common;
    Parameters& p = step.parameters;
    p.weight_decay = static_cast<float>(weight_decay);
    p.epsilon = static_cast<float>(epsilon);
    p.one_minus_beta1 = static_cast<float>(1 - beta1);
    p.one_minus_beta2 = static_cast<float>(1 - beta2);
    p.beta2 = static_cast<float>(beta2);
    split(std::log(beta1), p.log_beta1, p.log_beta1_low);
    split(std::log(beta2), p.log_beta2, p.log_beta2_low);
    step.constants = {
        .maximize = maximize ? 1u : 0u, .decoupled = decoupled ? 1u : 0u, .amsgrad = amsgrad ? 1u : 0u};
    launch_lists(kernels::optimizer_adam, std::move(step), std::array{self, gradients, means, squares, kept},
                 steps);
}

Step step_of(OptionalTensor scale, OptionalTensor found_inf) {
    Step step;
    step.reads_number(step.parameters.scale, scale);
    step.reads_number(step.parameters.found_inf, found_inf);
    return step;
}

template <bool decoupled>
void fused_adam(TensorList self, TensorList gradients, TensorList means, TensorList squares,
                TensorList largest, TensorList steps, double rate, double beta1, double beta2,
                double weight_decay, double epsilon, bool amsgrad, bool maximize, OptionalTensor scale,
                OptionalTensor found_inf) {
    Step step = step_of(scale, found_inf);
    step.parameters.rate = static_cast<float>(rate);
    adam(step, decoupled, self, gradients, means, squares, largest, steps, beta1, beta2, weight_decay,
         epsilon, amsgrad, maximize);
}
template <bool decoupled>
void fused_adam_with_rate(TensorList self, TensorList gradients, TensorList means, TensorList squares,
                          TensorList largest, TensorList steps, const at::Tensor& rate, double beta1,
                          double beta2, double weight_decay, double epsilon, bool amsgrad, bool maximize,
                          OptionalTensor scale, OptionalTensor found_inf) {
    Step step = step_of(scale, found_inf);
    step.rate_of(rate);
    adam(step, decoupled, self, gradients, means, squares, largest, steps, beta1, beta2, weight_decay,
         epsilon, amsgrad, maximize);
}

void sgd(Step step, TensorList self, TensorList gradients, TensorList velocities, double weight_decay,
         double momentum, double dampening, bool nesterov, bool maximize, bool first_step) {
    if (self.empty())
        return;
    TORCH_CHECK_NOT_IMPLEMENTED(
        fit_one_launch({self, gradients, velocities}),
        "parameters, gradients and states of different shapes, strides, dtypes or devices, "
        "or of a dtype other than float32, float16 and bfloat16");
    Parameters& p = step.parameters;
    p.weight_decay = static_cast<float>(weight_decay);
    p.beta2 = static_cast<float>(momentum);
    p.one_minus_beta1 = static_cast<float>(1 - dampening);
    step.constants = {.maximize = maximize ? 1u : 0u,
                      .nesterov = nesterov ? 1u : 0u,
                      .momentum = momentum != 0 ? 1u : 0u,
                      .first_step = first_step ? 1u : 0u};
    launch_lists(kernels::optimizer_sgd, std::move(step), std::array{self, gradients, velocities}, {});
}
void fused_sgd(TensorList self, TensorList gradients, TensorList velocities, double weight_decay,
               double momentum, double rate, double dampening, bool nesterov, bool maximize, bool first_step,
               OptionalTensor scale, OptionalTensor found_inf) {
    Step step = step_of(scale, found_inf);
    step.parameters.rate = static_cast<float>(rate);
    sgd(std::move(step), self, gradients, velocities, weight_decay, momentum, dampening, nesterov, maximize,
        first_step);
}
void fused_sgd_with_rate(TensorList self, TensorList gradients, TensorList velocities, double weight_decay,
                         double momentum, const at::Tensor& rate, double dampening, bool nesterov,
                         bool maximize, bool first_step, OptionalTensor scale, OptionalTensor found_inf) {
    Step step = step_of(scale, found_inf);
    step.rate_of(rate);
    sgd(std::move(step), self, gradients, velocities, weight_decay, momentum, dampening, nesterov, maximize,
        first_step);
}

bool single_float(const at::Tensor& tensor) {
    return tensor.numel() == 1 && tensor.scalar_type() == at::kFloat && tensor.is_privateuseone();
}

/// Each tensor of the list must be dense; shapes and dtypes may differ.
void unscale(TensorList self, at::Tensor& found_inf, const at::Tensor& inverse_scale) {
    TORCH_CHECK(single_float(inverse_scale), "inv_scale must be a 1-element float tensor.");
    TORCH_CHECK(single_float(found_inf), "found_inf must be a 1-element float tensor.");
    for (const at::ScalarType type : {at::kFloat, at::kHalf, at::kBFloat16}) {
        std::vector<at::Tensor> gradients;
        for (const at::Tensor& gradient : self)
            if (gradient.scalar_type() == type)
                gradients.push_back(gradient);
        if (gradients.empty())
            continue;
        TORCH_CHECK_NOT_IMPLEMENTED(fit_one_launch({gradients}), "gradients with gaps");
        Step step;
        step.parameters.scale = address(inverse_scale);
        step.parameters.found_inf = address(found_inf);
        step.read = {inverse_scale};
        // The kernel writes the flag. As the first of the modified lists, which this kernel ignores, it is
        // recorded as written.
        const std::vector<at::Tensor> flags(gradients.size(), found_inf);
        launch_lists(kernels::gradients_unscale, std::move(step), std::array<TensorList, 2>{flags, gradients},
                     {});
    }
    for (const at::Tensor& gradient : self)
        TORCH_CHECK_NOT_IMPLEMENTED(gradient.scalar_type() == at::kFloat ||
                                        gradient.scalar_type() == at::kHalf ||
                                        gradient.scalar_type() == at::kBFloat16,
                                    "gradients of ", gradient.scalar_type());
}

at::Tensor& update_scale(at::Tensor& scale, at::Tensor& tracker, const at::Tensor& found_inf, double growth,
                         double backoff, std::int64_t interval) {
    TORCH_CHECK(tracker.numel() == 1 && tracker.scalar_type() == at::kInt && tracker.is_privateuseone(),
                "growth_tracker must be a 1-element int tensor.");
    TORCH_CHECK(single_float(scale), "current_scale must be a 1-element float tensor.");
    TORCH_CHECK(single_float(found_inf), "found_inf must be a 1-element float tensor.");
    Parameters p;
    p.table = address(tracker);
    p.scale = address(scale);
    p.found_inf = address(found_inf);
    p.rate = static_cast<float>(growth);
    p.epsilon = static_cast<float>(backoff);
    p.tensors = static_cast<std::uint32_t>(interval);
    launch(scale.device(), kernels::gradient_scale_update, Groups{1, 1, 1}, p,
           {writes(scale), writes(tracker), reads(found_inf)});
    return scale;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_operator(m, "_fused_adam_", &fused_adam<false>);
    register_operator(m, "_fused_adam_.tensor_lr", &fused_adam_with_rate<false>);
    register_operator(m, "_fused_adamw_", &fused_adam<true>);
    register_operator(m, "_fused_adamw_.tensor_lr", &fused_adam_with_rate<true>);
    register_operator(m, "_fused_sgd_", &fused_sgd);
    register_operator(m, "_fused_sgd_.tensor_lr", &fused_sgd_with_rate);
    register_operator(m, "_amp_foreach_non_finite_check_and_unscale_", &unscale);
    register_operator(m, "_amp_update_scale_", &update_scale);
}

} // namespace

} // namespace rvk
