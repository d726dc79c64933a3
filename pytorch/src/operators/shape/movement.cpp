#include "movement.h"

#include "../../dispatch/launch.h"

#include <rekindle/kernels/families/shape.h>

#include <ATen/ops/empty.h>
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

namespace rvk {

namespace {

struct Dimension {
    std::int64_t size, to, from; ///< strides in bytes
    std::uint32_t rule;
    std::int64_t a, b;
    bool continues(const Dimension& fast) const {
        return rule == MovementRule::same && fast.rule == MovementRule::same && to == fast.to * fast.size &&
               from == fast.from * fast.size;
    }
};

} // namespace

void move_elements(const at::Tensor& result, const at::Tensor& source, const std::vector<MovementRule>& rules,
                   Triangle triangle, std::int64_t diagonal) {
    if (result.numel() == 0)
        return;
    TORCH_CHECK_NOT_IMPLEMENTED(result.numel() < 0xff000000, "moving 2^32 elements");
    const auto bytes = static_cast<std::int64_t>(result.element_size());
    std::vector<std::int64_t> order(static_cast<std::size_t>(result.dim()));
    std::iota(order.rbegin(), order.rend(), 0); // the last dimension first
    const std::size_t fixed = triangle == Triangle::whole ? 0 : 2;
    std::stable_sort(order.begin() + static_cast<std::ptrdiff_t>(fixed), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return result.stride(a) < result.stride(b); });
    c10::SmallVector<Access, 4> accesses{reads(source), writes(result)};
    std::vector<at::Tensor> tables;
    std::vector<Dimension> dimensions;
    std::uint64_t first = address(source);
    for (std::size_t i = 0; i < order.size(); ++i) {
        const auto d = order[i];
        const MovementRule& rule = rules[static_cast<std::size_t>(d)];
        Dimension dimension{
            result.size(d), result.stride(d) * bytes, source.stride(d) * bytes, rule.kind, rule.a, rule.b};
        if (rule.kind == MovementRule::flip) {
            first += static_cast<std::uint64_t>((dimension.size - 1) * dimension.from);
            dimension.from = -dimension.from;
            dimension.rule = MovementRule::same;
        } else if (rule.kind == MovementRule::table) {
            const at::Tensor host = at::empty({static_cast<std::int64_t>(rule.places.size())}, at::kInt);
            std::memcpy(host.mutable_data_ptr(), rule.places.data(),
                        rule.places.size() * sizeof(std::uint32_t));
            tables.push_back(host.to(result.device()));
            dimension.a = static_cast<std::int64_t>(raw_address(tables.back()));
            accesses.push_back(reads(tables.back()));
        }
        if (i >= fixed && dimension.size == 1 && dimension.rule == MovementRule::same)
            continue;
        if (dimensions.size() > fixed && dimension.continues(dimensions.back()))
            dimensions.back().size *= dimension.size;
        else
            dimensions.push_back(dimension);
    }
    TORCH_CHECK_NOT_IMPLEMENTED(dimensions.size() <= 8, "moving with more than 8 dimensions");
    std::array<std::int64_t, 48> words{};
    for (std::size_t d = 0; d < dimensions.size(); ++d) {
        words[d] = dimensions[d].size;
        words[8 + d] = dimensions[d].to;
        words[16 + d] = dimensions[d].from;
        words[24 + d] = dimensions[d].rule;
        words[32 + d] = dimensions[d].a;
        words[40 + d] = dimensions[d].b;
    }
    kernels::ShapeParameters p{};
    const UploadedBlock layout(result.device().index(), std::span<const std::int64_t>(words));
    p.layout = layout.address();
    p.result = address(result);
    p.source = first;
    p.diagonal = diagonal;
    p.count = static_cast<std::uint32_t>(result.numel());
    p.dimensions = static_cast<std::uint32_t>(dimensions.size());
    launch(result.device(), kernels::shape_move, linear_groups(result.numel(), 256), p, accesses,
           {.bytes = static_cast<std::uint32_t>(bytes), .operation = static_cast<std::uint32_t>(triangle)});
}

} // namespace rvk
