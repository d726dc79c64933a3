/// The operators for whole layers that nn.TransformerEncoderLayer and nn.MultiheadAttention call when nothing
/// needs a gradient, composed of the device's other operators.

#include "../../dispatch/structured.h"

#include <rekindle/kernels/families/indexing.h>

#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/logical_not.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>
#include <cmath>
#include <limits>

namespace rvk {

namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

/// The mask as bool (true: ignored), with four dimensions like the scores [batch, heads, queries, keys].
Tensor mask_of_scores(const Tensor& mask, std::optional<std::int64_t> type) {
    // Layers pass masks of 0 and -infinity. As in PyTorch's own operator, a nonzero entry means ignored.
    Tensor hidden = mask.to(at::kBool);
    TORCH_CHECK(type, "a mask needs a type: 0 for [queries, keys], 1 for [batch, keys], 2 for [batch, heads, "
                      "queries, keys]");
    switch (*type) {
    case 0:
        return hidden.unsqueeze(0).unsqueeze(0);
    case 1:
        return hidden.unsqueeze(1).unsqueeze(1);
    case 2:
        return hidden;
    default:
        TORCH_CHECK(false, "the type of a mask must be 0, 1 or 2, but got ", *type);
    }
}

/// Projects [batch, rows, width] with one third of the stacked weights and biases (part: 0 for the query, 1
/// for the key, 2 for the value) and splits the result into heads.
Tensor heads_of(const Tensor& input, const Tensor& weight, const Tensor& bias, std::int64_t part,
                std::int64_t width, std::int64_t heads) {
    const Tensor projected =
        at::linear(input, weight.narrow(0, part * width, width), bias.narrow(0, part * width, width));
    return projected.view({input.size(0), input.size(1), heads, width / heads}).transpose(1, 2);
}

std::tuple<Tensor, Tensor> multi_head_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                                std::int64_t width, std::int64_t heads,
                                                const Tensor& qkv_weight, const Tensor& qkv_bias,
                                                const Tensor& proj_weight, const Tensor& proj_bias,
                                                const OptionalTensor& mask, bool need_weights,
                                                bool average_weights, std::optional<std::int64_t> mask_type) {
    TORCH_CHECK_NOT_IMPLEMENTED(!query.is_nested() && query.dim() == 3, "attention of nested tensors");
    const Tensor q = heads_of(query, qkv_weight, qkv_bias, 0, width, heads);
    const Tensor k = heads_of(key, qkv_weight, qkv_bias, 1, width, heads);
    const Tensor v = heads_of(value, qkv_weight, qkv_bias, 2, width, heads);
    const bool masked = mask && mask->defined();
    const std::int64_t head_width = width / heads;
    Tensor attended, weights;
    if (need_weights) {
        Tensor scores = at::matmul(q.mul(1 / std::sqrt(static_cast<double>(head_width))), k.transpose(2, 3));
        if (masked)
            scores = scores.masked_fill(mask_of_scores(*mask, mask_type),
                                        -std::numeric_limits<double>::infinity());
        weights = at::softmax(scores, -1);
        attended = at::matmul(weights, v);
        if (average_weights)
            weights = weights.mean(1);
    } else {
        const OptionalTensor seen =
            masked ? OptionalTensor(at::logical_not(mask_of_scores(*mask, mask_type))) : std::nullopt;
        attended = at::scaled_dot_product_attention(q, k, v, seen);
    }
    const Tensor joined = attended.transpose(1, 2).reshape({query.size(0), query.size(1), width});
    return {at::linear(joined, proj_weight, proj_bias), weights};
}

Tensor encoder_layer(const Tensor& src, std::int64_t width, std::int64_t heads, const Tensor& qkv_weight,
                     const Tensor& qkv_bias, const Tensor& proj_weight, const Tensor& proj_bias,
                     bool use_gelu, bool norm_first, double epsilon, const Tensor& norm_weight_1,
                     const Tensor& norm_bias_1, const Tensor& norm_weight_2, const Tensor& norm_bias_2,
                     const Tensor& ffn_weight_1, const Tensor& ffn_bias_1, const Tensor& ffn_weight_2,
                     const Tensor& ffn_bias_2, const OptionalTensor& mask,
                     std::optional<std::int64_t> mask_type) {
    const auto norm = [&](const Tensor& x, const Tensor& weight, const Tensor& bias) {
        return at::layer_norm(x, {width}, weight, bias, epsilon);
    };
    const auto attend = [&](const Tensor& x) {
        return std::get<0>(multi_head_attention(x, x, x, width, heads, qkv_weight, qkv_bias, proj_weight,
                                                proj_bias, mask, false, true, mask_type));
    };
    const auto feed_forward = [&](const Tensor& x) {
        const Tensor inner = at::linear(x, ffn_weight_1, ffn_bias_1);
        return at::linear(use_gelu ? at::gelu(inner) : at::relu(inner), ffn_weight_2, ffn_bias_2);
    };
    if (norm_first) {
        const Tensor attended = src.add(attend(norm(src, norm_weight_1, norm_bias_1)));
        return attended.add(feed_forward(norm(attended, norm_weight_2, norm_bias_2)));
    }
    const Tensor attended = norm(src.add(attend(src)), norm_weight_1, norm_bias_1);
    return norm(attended.add(feed_forward(attended)), norm_weight_2, norm_bias_2);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_operator(m, "_native_multi_head_attention", &multi_head_attention);
    register_operator(m, "_transformer_encoder_layer_fwd", &encoder_layer);
}

} // namespace

} // namespace rvk
