#include "reduction.h"

#include "host_threads.h"

#include <ATen/ops/add.h>
#include <ATen/ops/bitwise_and.h>
#include <ATen/ops/bitwise_or.h>
#include <ATen/ops/bitwise_xor.h>
#include <ATen/ops/div.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/logical_or.h>
#include <ATen/ops/logical_xor.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/mul.h>
#include <vector>

namespace rvk::distributed {

namespace {

using Kind = c10d::ReduceOp::RedOpType;
using Parts = std::vector<at::Tensor>;
using Pairwise = at::Tensor (*)(const at::Tensor&, const at::Tensor&);

at::Tensor add(const at::Tensor& a, const at::Tensor& b) {
    return at::add(a, b);
}

/// For bool, sum, average and maximum mean "or"; product and minimum mean "and".
Pairwise of_bools(Kind kind) {
    switch (kind) {
    case Kind::BXOR:
        return at::logical_xor;
    case Kind::PRODUCT:
    case Kind::MIN:
    case Kind::BAND:
        return at::logical_and;
    default:
        return at::logical_or;
    }
}

Pairwise of_numbers(Kind kind) {
    switch (kind) {
    case Kind::PRODUCT:
        return at::mul;
    case Kind::MIN:
        return at::minimum;
    case Kind::MAX:
        return at::maximum;
    case Kind::BAND:
        return at::bitwise_and;
    case Kind::BOR:
        return at::bitwise_or;
    case Kind::BXOR:
        return at::bitwise_xor;
    default:
        return add;
    }
}

at::Tensor folded(const Parts& parts, Pairwise operation) {
    at::Tensor total = parts.front();
    for (std::size_t number = 1; number < parts.size(); ++number)
        total = operation(total, parts[number]);
    return total;
}

at::Tensor averaged(const at::Tensor& total, std::size_t count) {
    const bool inexact = total.is_floating_point() || total.is_complex();
    const auto divisor = static_cast<std::int64_t>(count);
    return inexact ? at::div(total, divisor) : at::div(total, divisor, "trunc");
}

bool has_16_bits(at::ScalarType type) {
    return type == at::kHalf || type == at::kBFloat16;
}

at::Tensor combined(const Reduction& reduction, Parts parts) {
    if (parts.front().scalar_type() == at::kBool)
        return folded(parts, of_bools(reduction.kind));
    for (at::Tensor& part : parts) {
        if (has_16_bits(part.scalar_type()))
            part = part.to(at::kFloat);
        if (reduction.kind == Kind::PREMUL_SUM)
            part = at::mul(part, reduction.factor);
    }
    at::Tensor total = folded(parts, of_numbers(reduction.kind));
    return reduction.kind == Kind::AVG ? averaged(total, parts.size()) : total;
}

void combine_range(const Reduction& reduction, const Parts& parts, const at::Tensor& out) {
    if (reduction.kind == Kind::SUM && parts.size() == 2 && out.scalar_type() != at::kBool) {
        at::Tensor target = out;
        at::add_out(target, parts[0], parts[1]); // rounds once, also in 16 bits
        return;
    }
    out.copy_(combined(reduction, parts));
}

Parts slices(std::span<const at::Tensor> parts, std::int64_t begin, std::int64_t end) {
    Parts result;
    for (const at::Tensor& part : parts)
        result.push_back(part.slice(0, begin, end));
    return result;
}

} // namespace

void Reduction::combine(std::span<const at::Tensor> parts, const at::Tensor& out) const {
    if (!out.is_cpu()) {
        combine_range(*this, {parts.begin(), parts.end()}, out);
        return;
    }
    in_parts(out.numel(), out.element_size(), [&](std::int64_t begin, std::int64_t end) {
        combine_range(*this, slices(parts, begin, end), out.slice(0, begin, end));
    });
}

} // namespace rvk::distributed
