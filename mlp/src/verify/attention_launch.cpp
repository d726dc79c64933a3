/// Launches the kernels of kernels/attention/.

#include "verify/attention.h"

#include <rekindle/kernels/ceil_div.h>

#include <algorithm>
#include <cstring>
#include <span>

namespace rekindle::mlp::verify {

namespace {

/// The words of a block that come before and after the strides (kernels/attention/operands.slang).
constexpr std::size_t addresses = 13, zeros = 2;

/// As in kernels/attention/tiles.slang: a tile has row_groups rows for each row of a thread and tile_columns
/// columns; in a slice, rows begin every slice_row quads, of which one is padding.
constexpr std::uint32_t row_groups = 8, tile_columns = 64, slice_row = 9;

} // namespace

bool has_attention(const runtime::Device& device) {
    return device.usable_features().contains(kernels::attention_forward.kernel.needs);
}

std::optional<products::UnitAttention> unit_attention(const runtime::Device& device, ElementType type,
                                                      std::uint32_t width) {
    return products::unit_attention(products::default_parameters(device.info(), device.usable_features()),
                                    type, width);
}

DeviceAttention::DeviceAttention(runtime::Device& device, runtime::Stream& stream,
                                 const AttentionCase& attention, const AttentionOperands& operands)
    : stream_(stream), case_(attention), planner_(products::Planner::calibrated(device, {})) {
    if (attention.on_units) {
        units_ = unit_attention(device, attention.type, std::max(attention.width, attention.value_width));
        if (!units_)
            throw runtime::Unsupported(device.info().name + " has no matrix units for attention of " +
                                       std::string(name(attention.type)));
    }
    const auto upload = [&](const Operand& operand) {
        const auto strides = operand.strides();
        strides_.insert(strides_.end(), strides.begin(), strides.end());
        return DeviceNumbers(device, stream, attention.type, operand.values);
    };
    query_ = upload(operands.query);
    key_ = upload(operands.key);
    value_ = upload(operands.value);
    grad_output_ = upload(operands.grad_output);
    bias_ = upload(operands.bias);
    strides_.push_back(1); // from column to column of the bias
    const std::size_t heads = std::size_t{attention.batch} * attention.heads;
    const std::size_t queries = heads * attention.queries, keys = heads * attention.keys;
    const bool has_grad_bias = attention.has_bias && !attention.on_units;
    const auto results = [&](ElementType type, std::size_t count) {
        return DeviceNumbers(device, stream, type, count);
    };
    output_ = results(attention.type, queries * attention.value_width);
    log_sums_ = results(ElementType::float32, queries);
    output_dots_ = results(ElementType::float32, queries);
    grad_query_ = results(attention.type, queries * attention.width);
    grad_key_ = results(attention.type, keys * attention.width);
    grad_value_ = results(attention.type, keys * attention.value_width);
    grad_bias_ = results(attention.type, has_grad_bias ? queries * attention.keys : 0);
}

void DeviceAttention::forward() {
    multiply(products::AttentionPass::forward, units_ ? &units_->forward : nullptr,
             {case_.queries, case_.keys, 2, {}, {&output_, &log_sums_}});
}

void DeviceAttention::backward() {
    constexpr std::uint32_t rows_of_group = 16;
    const std::uint32_t rows = case_.batch * case_.heads * case_.queries;
    launch_in_tiles(kernels::attention_output_dots.kernel,
                    {rows, 0, 0, {&grad_output_, &output_}, {&output_dots_}}, 8,
                    {kernels::ceil_div(rows, rows_of_group)});
    Pass of_queries{case_.queries, case_.keys, 3, {&grad_output_, &log_sums_, &output_dots_}, {&grad_query_}};
    if (case_.has_bias && !units_)
        of_queries.writes.push_back(&grad_bias_);
    multiply(products::AttentionPass::of_queries, units_ ? &units_->of_queries : nullptr, of_queries);
    multiply(products::AttentionPass::of_keys, units_ ? &units_->of_keys : nullptr,
             {case_.keys,
              case_.queries,
              4,
              {&grad_output_, &log_sums_, &output_dots_},
              {&grad_key_, &grad_value_}});
}

AttentionResults DeviceAttention::results() {
    const auto host = [&](const DeviceNumbers& numbers) { return numbers.download(stream_); };
    return {host(output_),   host(log_sums_),   host(grad_query_),
            host(grad_key_), host(grad_value_), host(grad_bias_)};
}

void DeviceAttention::multiply(products::AttentionPass kind, const products::UnitPass* units,
                               const Pass& pass) {
    if (units != nullptr) {
        launch_on_units(*units, pass);
        return;
    }
    const products::AttentionShape shape{.pass = kind,
                                         .heads = std::int64_t{case_.batch} * case_.heads,
                                         .rows = pass.rows,
                                         .others = pass.others,
                                         .width = std::max(case_.width, case_.value_width),
                                         .in_quads = is_in_groups(4),
                                         .has_bias = case_.has_bias};
    const std::vector<products::AttentionTile> possible = products::possible_attention_tiles(shape);
    const products::AttentionTile tile =
        case_.tile && std::ranges::find(possible, *case_.tile) != possible.end()
            ? *case_.tile
            : products::attention_tile(planner_.device(), shape);
    const auto rows_of_thread = static_cast<std::uint32_t>(tile.rows_of_thread);
    launch_in_tiles(products::attention_kernel(kind, tile.wide), pass, rows_of_thread,
                    {kernels::ceil_div(pass.rows, rows_of_thread * row_groups), case_.heads, case_.batch});
}

void DeviceAttention::launch_in_tiles(const kernels::Kernel& kernel, const Pass& pass,
                                      std::uint32_t rows_of_thread, runtime::Groups groups) {
    const runtime::Transient words = block();
    const kernels::AttentionParameters parameters{.block = words.pointer.address,
                                                  .queries = case_.queries,
                                                  .keys = case_.keys,
                                                  .width = case_.width,
                                                  .value_width = case_.value_width,
                                                  .heads = case_.heads,
                                                  .scale = case_.scale(),
                                                  .rows = case_.batch * case_.heads * case_.queries,
                                                  .first = 0,
                                                  .end = pass.others};
    const kernels::AttentionConstants constants{
        .dtype = products::dtype_of(case_.type),
        .causal = case_.causal,
        .has_bias = case_.has_bias,
        .in_quads = is_in_groups(4),
        .rows_of_thread = rows_of_thread,
        .result_quads = result_quads(),
        .tile_quads = (rows_of_thread * row_groups + tile_columns) * slice_row,
        .wants_grad_bias = std::ranges::find(pass.writes, &grad_bias_) != pass.writes.end()};
    stream_.launch(kernel, groups, std::as_bytes(std::span(&parameters, 1)), accesses(pass), constants.list(),
                   pass.products * case_.multiplications() / 5e10);
}

void DeviceAttention::launch_on_units(const products::UnitPass& units, const Pass& pass) {
    const runtime::Transient words = block();
    const auto row_bytes = [&](std::size_t operand) {
        return static_cast<std::uint32_t>(strides_[operand * 3 + 2] * bytes_of(case_.type));
    };
    const kernels::AttentionUnitsParameters parameters{.block = words.pointer.address,
                                                       .queries = case_.queries,
                                                       .keys = case_.keys,
                                                       .width = case_.width,
                                                       .value_width = case_.value_width,
                                                       .heads = case_.heads,
                                                       .scale = case_.scale(),
                                                       .query_stride = row_bytes(0),
                                                       .key_stride = row_bytes(1),
                                                       .value_stride = row_bytes(2),
                                                       .grad_stride = row_bytes(3)};
    kernels::AttentionUnitsConstants constants = units.constants;
    constants.causal = case_.causal;
    constants.has_bias = case_.has_bias;
    constants.in_eights = is_in_groups(8);
    stream_.launch(*units.kernel, {kernels::ceil_div(pass.rows, units.rows), case_.heads, case_.batch},
                   std::as_bytes(std::span(&parameters, 1)), accesses(pass), constants.list(),
                   pass.products * case_.multiplications() / 5e11);
}

runtime::Transient DeviceAttention::block() const {
    // In the order of kernels/attention/operands.slang; nothing is carried from launch to launch.
    std::vector<std::uint64_t> words;
    for (const DeviceNumbers* numbers : {&query_, &key_, &value_, &bias_, &output_, &log_sums_, &grad_output_,
                                         &output_dots_, &grad_query_, &grad_key_, &grad_value_, &grad_bias_})
        words.push_back(runtime::raw_address(numbers->first()));
    words.resize(addresses);
    words.insert(words.end(), strides_.begin(), strides_.end());
    words.resize((words.size() + 1) / 2 * 2 + zeros);
    words.insert(words.end(), {1, 0, 0}); // heads do not share keys; no dropout
    runtime::Transient block = stream_.transient(words.size() * sizeof(std::uint64_t));
    std::memcpy(block.host.data(), words.data(), words.size() * sizeof(std::uint64_t));
    return block;
}

std::vector<runtime::Access> DeviceAttention::accesses(const Pass& pass) const {
    std::vector<runtime::Access> accesses;
    for (const DeviceNumbers* numbers : {&query_, &key_, &value_, &bias_})
        accesses.push_back(runtime::reads(numbers->buffer()));
    for (const DeviceNumbers* numbers : pass.reads)
        accesses.push_back(runtime::reads(numbers->buffer()));
    for (const DeviceNumbers* numbers : pass.writes)
        accesses.push_back(runtime::writes(numbers->buffer()));
    return accesses;
}

std::uint32_t DeviceAttention::result_quads() const {
    return static_cast<std::uint32_t>(products::attention_groups(std::max(case_.width, case_.value_width)));
}

bool DeviceAttention::is_in_groups(std::uint32_t numbers) const {
    return case_.width % numbers == 0 && case_.value_width % numbers == 0 && case_.padding % numbers == 0;
}

} // namespace rekindle::mlp::verify
