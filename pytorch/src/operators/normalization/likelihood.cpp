/// Negative log-likelihood: kernels/normalization/likelihood.slang.

#include "../../device/index_report.h"
#include "../../dispatch/structured.h"
#include "../lib/lines.h"
#include "../reduction/reduction_launch.h"

#include <rekindle/kernels/families/likelihood.h>
#include <rekindle/kernels/families/likelihood_float64.h>

#include <ATen/core/Reduction.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/nll_loss_backward_meta.h>
#include <ATen/ops/nll_loss_forward_meta.h>

namespace rvk {

namespace {

using kernels::LikelihoodParameters;

/// samples × classes × positions; a single sample may lack the sample dimension.
struct Likelihood {
    at::Tensor target, weight; ///< contiguous
    std::int64_t samples = 1, classes = 0, places = 1;
    std::int64_t reduction = at::Reduction::Mean, ignored = -100;
    bool wide = false;

    Likelihood(const at::Tensor& self, const at::Tensor& target_, const at::Tensor& weight_,
               std::int64_t reduction_, std::int64_t ignored_)
        : target(target_.contiguous()), weight(weight_.defined() ? weight_.contiguous() : at::Tensor()),
          reduction(reduction_), ignored(ignored_), wide(self.scalar_type() == at::kDouble) {
        TORCH_CHECK_NOT_IMPLEMENTED(at::isFloatingType(self.scalar_type()) &&
                                        (!weight.defined() || weight.scalar_type() == self.scalar_type()),
                                    "nll_loss of ", self.scalar_type());
        require_float64(self.scalar_type(), self.device());
        classes = self.size(self.dim() == 1 ? 0 : 1);
        if (self.dim() > 1)
            samples = self.size(0);
        for (std::int64_t d = 2; d < self.dim(); ++d)
            places *= self.size(d);
        TORCH_CHECK_NOT_IMPLEMENTED(samples * places <= std::numeric_limits<std::int32_t>::max(),
                                    "nll_loss of 2^31 targets");
    }

    LikelihoodParameters parameters() const {
        LikelihoodParameters p{};
        p.target = address(target);
        p.weight = weight.defined() ? address(weight) : 0;
        p.ignored = ignored;
        p.report = index_report_address(target.device().index());
        p.outputs = 1;
        p.reduced = static_cast<std::uint32_t>(samples * places);
        p.classes = static_cast<std::uint32_t>(classes);
        p.places = static_cast<std::uint32_t>(places);
        return p;
    }
    kernels::LikelihoodConstants constants(const at::Tensor& like) const {
        return {.input_type = dtype_code(like.scalar_type()),
                .target_type = dtype_code(target.scalar_type()),
                .has_weight = weight.defined() ? 1u : 0u,
                .reduction = static_cast<std::uint32_t>(reduction)};
    }
    void read(c10::SmallVector<Access, 8>& accesses) const {
        accesses.push_back(reads(target));
        if (weight.defined())
            accesses.push_back(reads(weight));
    }
};

/// output: contiguous, with the targets' shape.
void each_loss(const Likelihood& problem, const at::Tensor& input, const at::Tensor& output) {
    if (output.numel() == 0)
        return;
    LikelihoodParameters p = problem.parameters();
    p.input = address(input);
    p.output = address(output);
    p.count = static_cast<std::uint64_t>(output.numel());
    c10::SmallVector<Access, 8> accesses{reads(input), writes(output)};
    problem.read(accesses);
    launch(input.device().index(),
           problem.wide ? kernels::likelihood_each_float64.kernel : kernels::likelihood_each.kernel,
           linear_groups(output.numel(), 256), std::as_bytes(std::span(&p, 1)), accesses,
           problem.constants(input));
}

void reduced_loss(const Likelihood& problem, const at::Tensor& input, const at::Tensor& output,
                  const at::Tensor& total_weight) {
    const std::int64_t elements = problem.samples * problem.places;
    const auto schedule = schedule_reduction(1, elements, true);
    const at::Tensor scratch = reduction_scratch(schedule, 1, input.device());
    LikelihoodParameters p = problem.parameters();
    p.input = address(input);
    p.output = address(output);
    p.total_weight = address(total_weight);
    p.partial = scratch.defined() ? address(scratch) : 0;
    p.parts = schedule.parts;
    p.part_size = schedule.part_size;
    kernels::LikelihoodConstants constants = problem.constants(input);
    constants.columns = schedule.columns;
    constants.split = schedule.parts > 1 ? 1u : 0u;
    const auto bytes = std::as_bytes(std::span(&p, 1));
    const auto index = input.device().index();
    c10::SmallVector<Access, 8> accesses{reads(input)};
    problem.read(accesses);
    c10::SmallVector<Access, 8> results{writes(output), writes(total_weight)};
    const auto& first = problem.wide ? kernels::likelihood_float64.kernel : kernels::likelihood.kernel;
    if (schedule.parts == 1) {
        accesses.append(results.begin(), results.end());
        launch(index, first, schedule.groups, bytes, accesses, constants);
        return;
    }
    accesses.push_back(writes(scratch));
    launch(index, first, schedule.groups, bytes, accesses, constants);
    constants.columns = 1;
    constants.split = 0;
    results.push_back(reads(scratch));
    launch(index, problem.wide ? kernels::likelihood_parts_float64.kernel : kernels::likelihood_parts.kernel,
           {1, 1, 1}, bytes, results, constants);
}

void forward(const at::Tensor& self, const at::Tensor& target, const at::Tensor& weight,
             std::int64_t reduction, std::int64_t ignored, const at::Tensor& output,
             const at::Tensor& total_weight) {
    const Likelihood problem(self, target, weight, reduction, ignored);
    const at::Tensor input = self.contiguous();
    if (reduction == at::Reduction::None) {
        with_contiguous_output(output, [&](const at::Tensor& to) { each_loss(problem, input, to); });
        const_cast<at::Tensor&>(total_weight).zero_();
        return;
    }
    reduced_loss(problem, input, output, total_weight);
}

void backward(const at::Tensor& grad_output, const at::Tensor& self, const at::Tensor& target,
              const at::Tensor& weight, std::int64_t reduction, std::int64_t ignored,
              const at::Tensor& total_weight, const at::Tensor& grad_input) {
    if (grad_input.numel() == 0)
        return;
    const Likelihood problem(self, target, weight, reduction, ignored);
    const at::Tensor gradient = grad_output.contiguous();
    with_contiguous_output(grad_input, [&](const at::Tensor& to) {
        LikelihoodParameters p = problem.parameters();
        p.gradient = address(gradient);
        p.output = address(to);
        p.total_weight = address(total_weight);
        p.count = static_cast<std::uint64_t>(to.numel());
        c10::SmallVector<Access, 8> accesses{reads(gradient), reads(total_weight), writes(to)};
        problem.read(accesses);
        launch(self.device().index(),
               problem.wide ? kernels::likelihood_backward_float64.kernel
                            : kernels::likelihood_backward.kernel,
               linear_groups(to.numel(), 256), std::as_bytes(std::span(&p, 1)), accesses,
               problem.constants(self));
    });
}

at::Tensor tensor_of(const at::OptionalTensorRef& tensor) {
    return tensor.has_value() ? *tensor : at::Tensor();
}

struct Forward : at::meta::structured_nll_loss_forward {
    void impl(const at::Tensor& self, const at::Tensor& target, const at::OptionalTensorRef& weight,
              std::int64_t reduction, std::int64_t ignored, const at::Tensor& output,
              const at::Tensor& total_weight) {
        forward(self, target, tensor_of(weight), reduction, ignored, output, total_weight);
    }
};
struct Backward : at::meta::structured_nll_loss_backward {
    void impl(const at::Tensor& grad_output, const at::Tensor& self, const at::Tensor& target,
              const at::OptionalTensorRef& weight, std::int64_t reduction, std::int64_t ignored,
              const at::Tensor& total_weight, const at::Tensor& grad_input) {
        backward(grad_output, self, target, tensor_of(weight), reduction, ignored, total_weight, grad_input);
    }
};

void check_images(const at::Tensor& self, const at::Tensor& target, const std::optional<at::Tensor>& weight) {
    TORCH_CHECK(target.dim() == 3,
                "only batches of spatial targets supported (3D tensors) but got targets of "
                "dimension: ",
                target.dim());
    TORCH_CHECK(
        self.dim() == 4,
        "only batches of spatial inputs supported (4D tensors), but got input of dimension: ", self.dim());
    TORCH_CHECK(target.scalar_type() == at::kLong || target.scalar_type() == at::kByte,
                "expected target dtype to be Long or Byte, but found ", target.scalar_type());
    TORCH_CHECK(!weight || !weight->defined() || weight->numel() == self.size(1),
                "weight tensor should be defined either for all or no classes");
    TORCH_CHECK(self.size(0) == target.size(0) && self.size(2) == target.size(1) &&
                    self.size(3) == target.size(2),
                "input and target batch or spatial sizes don't match: target ", target.sizes(), ", input ",
                self.sizes());
}

std::tuple<at::Tensor, at::Tensor> images_forward(const at::Tensor& self, const at::Tensor& target,
                                                  const std::optional<at::Tensor>& weight,
                                                  std::int64_t reduction, std::int64_t ignored) {
    check_images(self, target, weight);
    const at::Tensor output =
        at::empty(reduction == at::Reduction::None ? target.sizes() : at::IntArrayRef(), self.options());
    const at::Tensor total_weight = at::empty({}, self.options());
    forward(self, target, weight.value_or(at::Tensor()), reduction, ignored, output, total_weight);
    return {output, total_weight};
}

at::Tensor images_backward(const at::Tensor& grad_output, const at::Tensor& self, const at::Tensor& target,
                           const std::optional<at::Tensor>& weight, std::int64_t reduction,
                           std::int64_t ignored, const at::Tensor& total_weight) {
    check_images(self, target, weight);
    at::Tensor grad_input = at::empty(self.sizes(), self.options());
    backward(grad_output, self, target, weight.value_or(at::Tensor()), reduction, ignored, total_weight,
             grad_input);
    return grad_input;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_structured<Forward, 2>(m, "nll_loss_forward", "nll_loss_forward.output");
    register_structured<Backward>(m, "nll_loss_backward", "nll_loss_backward.grad_input");
    register_operator(m, "nll_loss2d_forward", &images_forward);
    register_operator(m, "nll_loss2d_backward", &images_backward);
}

} // namespace
} // namespace rvk
