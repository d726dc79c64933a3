/// Connectionist temporal classification (CTC) loss (kernels/alignment/alignment.slang).

#include "../../device/index_report.h"
#include "../../dispatch/launch.h"
#include "../../dispatch/limits.h"
#include "../../dispatch/structured.h"

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/kernels/families/alignment.h>
#include <rekindle/kernels/families/alignment_float64.h>

#include <ATen/TensorUtils.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/tensor.h>
#include <algorithm>
#include <limits>

namespace rvk {

namespace {

constexpr std::int64_t shared_positions = 1024; ///< as in the kernels
constexpr double nothing = -std::numeric_limits<double>::infinity();

using Parameters = kernels::AlignmentParameters;

/// A kernel for float32 (narrow) and the same for float64 (wide).
struct Kernel {
    const kernels::Kernel& narrow;
    const kernels::Kernel& wide;
};

/// The CTC loss of log-probabilities (times × batch × classes) for one label sequence per sample.
class Alignment {
  public:
    Alignment(const at::Tensor& log_probabilities, const at::Tensor& targets, at::IntArrayRef input_lengths,
              at::IntArrayRef target_lengths, std::int64_t blank)
        : log_probabilities_(log_probabilities.contiguous()), blank_(blank) {
        const auto type = log_probabilities.scalar_type();
        TORCH_CHECK_NOT_IMPLEMENTED(type == at::kFloat || type == at::kDouble, "ctc_loss of ", type);
        require_float64(type, log_probabilities.device());
        const std::vector<std::int64_t> firsts = check(targets, input_lengths, target_lengths);
        std::vector<std::int64_t> lengths;
        for (std::size_t i = 0; i < firsts.size(); ++i) {
            lengths.insert(lengths.end(), {input_lengths[i], target_lengths[i], firsts[i]});
            longest_labels_ = std::max(longest_labels_, target_lengths[i]);
            longest_steps_ = std::max(longest_steps_, input_lengths[i]);
        }
        const auto device = log_probabilities.device();
        targets_ = targets.to(device, at::kLong).contiguous();
        lengths_ = at::tensor(lengths, at::kLong).to(device);
        TORCH_CHECK_NOT_IMPLEMENTED(times() * batch() * std::max(positions(), classes()) <=
                                        std::numeric_limits<std::int32_t>::max(),
                                    "ctc_loss of 2^31 elements");
    }

    std::int64_t times() const { return log_probabilities_.size(0); }
    std::int64_t batch() const { return log_probabilities_.size(1); }
    std::int64_t classes() const { return log_probabilities_.size(2); }
    std::int64_t positions() const { return 2 * longest_labels_ + 1; }
    bool is_empty() const { return times() == 0 || batch() == 0; }
    /// Alpha before any path is added: the logarithm of probability 0 everywhere. (The CPU leaves elements
    /// beyond the lengths uninitialized.)
    at::Tensor no_paths() const {
        return at::full({batch(), times(), positions()}, nothing, log_probabilities_.options());
    }

    void sum_paths(Parameters p, const at::Tensor& states, bool backward) const {
        const bool in_group = positions() <= shared_positions;
        const std::int64_t groups_of_sample = in_group ? 1 : kernels::ceil_div(positions(), 256);
        // Iterations per time step: those of the loop over its positions, the test that ends this loop, and
        // one of the loop over time steps.
        const std::int64_t iterations = kernels::ceil_div(positions(), 256) + 2;
        const std::int64_t steps = in_group ? most_iterations / iterations - 1 : 1;
        const Kernel kernel =
            backward ? Kernel{kernels::alignment_backward.kernel, kernels::alignment_backward_float64.kernel}
                     : Kernel{kernels::alignment_forward.kernel, kernels::alignment_forward_float64.kernel};
        in_ranges(longest_steps_, steps, [&](std::uint32_t begin, std::uint32_t end) {
            p.begin = begin;
            p.end = end;
            queue(kernel, linear_groups(batch() * groups_of_sample, 1), p, {writes(states)},
                  {.in_group = in_group ? 1u : 0u});
        });
    }
    void find_losses(const Parameters& p, const at::Tensor& alpha, const at::Tensor& losses) const {
        queue({kernels::alignment_loss.kernel, kernels::alignment_loss_float64.kernel},
              linear_groups(batch(), 256), p, {reads(alpha), writes(losses)}, {});
    }
    void collect(Parameters p, const at::Tensor& alpha, const at::Tensor& beta,
                 const at::Tensor& output) const {
        in_ranges(positions(), most_iterations - 1, [&](std::uint32_t begin, std::uint32_t end) {
            p.begin = begin;
            p.end = end;
            queue({kernels::alignment_collect.kernel, kernels::alignment_collect_float64.kernel},
                  linear_groups(batch() * times(), 256), p, {reads(alpha), reads(beta), writes(output)}, {});
        });
    }
    void finish(const Parameters& p, const at::Tensor& losses, const at::Tensor& gradient,
                const at::Tensor& output) const {
        queue({kernels::alignment_gradient.kernel, kernels::alignment_gradient_float64.kernel},
              linear_groups(output.numel(), 256), p, {reads(losses), reads(gradient), writes(output)}, {});
    }

    Parameters parameters() const {
        Parameters p{};
        p.log_probabilities = address(log_probabilities_);
        p.targets = address(targets_);
        p.lengths = address(lengths_);
        p.report = index_report_address(log_probabilities_.device().index());
        p.times = static_cast<std::uint32_t>(times());
        p.batch = static_cast<std::uint32_t>(batch());
        p.classes = static_cast<std::uint32_t>(classes());
        p.positions = static_cast<std::uint32_t>(positions());
        p.blank = static_cast<std::uint32_t>(blank_);
        return p;
    }

  private:
    /// Throws PyTorch's errors for invalid lengths. Returns the index of each sample's first label in the
    /// contiguous targets.
    std::vector<std::int64_t> check(const at::Tensor& targets, at::IntArrayRef input_lengths,
                                    at::IntArrayRef target_lengths) const {
        const at::CheckedFrom from = "ctc_loss_allocate_outputs";
        const at::TensorArg targets_argument(targets, "targets", 2);
        at::checkScalarTypes(from, targets_argument, {at::kLong, at::kInt});
        at::checkDim(from, at::TensorArg(log_probabilities_, "log_probs", 1), 3);
        at::checkDimRange(from, targets_argument, 1, 3);
        TORCH_CHECK(blank_ >= 0 && blank_ < classes(), "blank must be in label range");
        const auto count = static_cast<std::size_t>(batch());
        TORCH_CHECK(input_lengths.size() == count, "input_lengths must be of size batch_size");
        TORCH_CHECK(target_lengths.size() == count, "target_lengths must be of size batch_size");
        const auto check_length = [&](const char* name, std::int64_t length) {
            TORCH_CHECK(length >= 0, "Expected ", name, " to have value at least ", 0, ", but got value ",
                        length, " (while checking arguments for ", from, ")");
        };
        std::vector<std::int64_t> firsts;
        std::int64_t total = 0, longest = 0;
        for (std::size_t i = 0; i < count; ++i) {
            check_length("target_lengths", target_lengths[i]);
            firsts.push_back(targets.dim() == 1 ? total : static_cast<std::int64_t>(i) * targets.size(1));
            total += target_lengths[i];
            longest = std::max(longest, target_lengths[i]);
        }
        at::checkSize(from, targets_argument, 0, targets.dim() == 1 ? total : batch());
        TORCH_CHECK(targets.dim() == 1 || targets.size(1) >= longest,
                    "Expected tensor to have size at least ", longest, " at dimension 1, but got size ",
                    targets.size(1), " for ", targets_argument, " (while checking arguments for ", from, ")");
        for (const std::int64_t length : input_lengths) {
            check_length("input_lengths", length);
            TORCH_CHECK(length <= times(), "Expected input_lengths to have value at most ", times(),
                        ", but got value ", length, " (while checking arguments for ", from, ")");
        }
        return firsts;
    }
    void queue(const Kernel& kernel, Groups groups, const Parameters& p, std::initializer_list<Access> others,
               const kernels::AlignmentConstants& constants) const {
        c10::SmallVector<Access, 8> accesses{reads(log_probabilities_), reads(targets_), reads(lengths_)};
        accesses.append(others.begin(), others.end());
        const bool wide = log_probabilities_.scalar_type() == at::kDouble;
        launch(log_probabilities_.device().index(), wide ? kernel.wide : kernel.narrow, groups,
               std::as_bytes(std::span(&p, 1)), accesses, constants);
    }

    at::Tensor log_probabilities_, targets_, lengths_;
    std::int64_t blank_, longest_labels_ = 0, longest_steps_ = 0;
};

std::tuple<at::Tensor, at::Tensor> ctc_loss(const at::Tensor& log_probabilities, const at::Tensor& targets,
                                            at::IntArrayRef input_lengths, at::IntArrayRef target_lengths,
                                            std::int64_t blank, bool) {
    const Alignment alignment(log_probabilities, targets, input_lengths, target_lengths, blank);
    const at::Tensor alpha = alignment.no_paths();
    const at::Tensor losses = at::empty({alignment.batch()}, log_probabilities.options());
    if (alignment.batch() == 0)
        return {losses, alpha};
    Parameters p = alignment.parameters();
    p.alpha = address(alpha);
    p.losses = address(losses);
    alignment.sum_paths(p, alpha, /*backward=*/false);
    alignment.find_losses(p, alpha, losses);
    return {losses, alpha};
}

at::Tensor ctc_loss_backward(const at::Tensor& grad, const at::Tensor& log_probabilities,
                             const at::Tensor& targets, at::IntArrayRef input_lengths,
                             at::IntArrayRef target_lengths, const at::Tensor& losses,
                             const at::Tensor& log_alpha, std::int64_t blank, bool zero_infinity) {
    const Alignment alignment(log_probabilities, targets, input_lengths, target_lengths, blank);
    at::Tensor output =
        at::full_like(log_probabilities, nothing, {}, {}, {}, {}, at::MemoryFormat::Contiguous);
    if (alignment.is_empty())
        return output;
    const at::Tensor alpha = log_alpha.contiguous(), beta = alignment.no_paths();
    const at::Tensor gradient = grad.contiguous(), dense_losses = losses.contiguous();
    Parameters p = alignment.parameters();
    p.alpha = address(alpha);
    p.beta = address(beta);
    p.losses = address(dense_losses);
    p.gradient = address(gradient);
    p.output = address(output);
    p.zero_infinity = zero_infinity ? 1 : 0;
    alignment.sum_paths(p, beta, /*backward=*/true);
    alignment.collect(p, alpha, beta, output);
    alignment.finish(p, dense_losses, gradient, output);
    return output;
}

/// Copies the lengths to the host, which needs them to plan the launches.
std::vector<std::int64_t> lengths_of(const at::Tensor& lengths) {
    TORCH_CHECK(at::isIntegralType(lengths.scalar_type(), /*includeBool=*/false),
                "input_lengths must be integral");
    const AllowCopyToHost allow("the lengths of the samples");
    const at::Tensor here = lengths.to(at::kCPU, at::kLong).contiguous();
    return {here.const_data_ptr<std::int64_t>(), here.const_data_ptr<std::int64_t>() + here.numel()};
}
std::tuple<at::Tensor, at::Tensor> ctc_loss_of_tensors(const at::Tensor& log_probabilities,
                                                       const at::Tensor& targets,
                                                       const at::Tensor& input_lengths,
                                                       const at::Tensor& target_lengths, std::int64_t blank,
                                                       bool zero_infinity) {
    return rvk::ctc_loss(log_probabilities, targets, lengths_of(input_lengths), lengths_of(target_lengths),
                         blank, zero_infinity);
}
at::Tensor ctc_loss_backward_of_tensors(const at::Tensor& grad, const at::Tensor& log_probabilities,
                                        const at::Tensor& targets, const at::Tensor& input_lengths,
                                        const at::Tensor& target_lengths, const at::Tensor& losses,
                                        const at::Tensor& log_alpha, std::int64_t blank, bool zero_infinity) {
    return rvk::ctc_loss_backward(grad, log_probabilities, targets, lengths_of(input_lengths),
                                  lengths_of(target_lengths), losses, log_alpha, blank, zero_infinity);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_operator(m, "_ctc_loss", &ctc_loss);
    register_operator(m, "_ctc_loss.Tensor", &ctc_loss_of_tensors);
    register_operator(m, "_ctc_loss_backward", &ctc_loss_backward);
    register_operator(m, "_ctc_loss_backward.Tensor", &ctc_loss_backward_of_tensors);
}

} // namespace

} // namespace rvk
