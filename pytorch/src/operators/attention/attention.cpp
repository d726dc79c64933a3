/// Scaled dot-product attention without a matrix of scores in memory (kernels/attention/).

#include "../../device/generator.h"
#include "../../dispatch/launch.h"
#include "../../dispatch/limits.h"
#include "../../dispatch/structured.h"
#include "../product/planner.h"

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/kernels/families/attention.h>
#include <rekindle/products/unit_attention.h>

#include <ATen/Context.h>
#include <ATen/ExpandUtils.h>
#include <ATen/SDPBackend.h>
#include <ATen/native/DispatchStub.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace rvk {

namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

constexpr std::int64_t widest = 256; // columns of the widest heads that the kernels support

/// As in kernels/attention/tiles.slang: a tile has row_groups rows for each row of a thread and tile_columns
/// columns. Dot products are computed from slices of `slice` elements of a row, and results in groups of
/// group_columns columns.
constexpr std::int64_t row_groups = 8, tile_columns = 64, slice = 32, group_columns = 64;

/// Whether the kernels support these tensors. For the others, PyTorch uses matrix products and softmax:
/// float64, heads of more than 256 columns, and empty tensors. Under torch.compile, sizes may be symbolic:
/// the result becomes a guard of the compiled program, and a comparison that depends on data counts as false.
bool has_kernel(const Tensor& query, const Tensor& key, const Tensor& value, const OptionalTensor& mask,
                bool grouped) {
    const auto dense = [](const Tensor& t) {
        return !t.is_nested() && t.dim() == 4 && TORCH_GUARD_OR_FALSE(t.sym_numel().sym_gt(0));
    };
    if (!dense(query) || !dense(key) || !dense(value))
        return false;
    const at::ScalarType type = query.scalar_type();
    const bool types = (type == at::kFloat || type == at::kHalf || type == at::kBFloat16) &&
                       key.scalar_type() == type && value.scalar_type() == type;
    const auto at_most = [](const Tensor& t, std::int64_t d, std::int64_t most) {
        return TORCH_GUARD_OR_FALSE(t.sym_size(d).sym_le(most));
    };
    const auto equal = [](const Tensor& one, const Tensor& other, std::int64_t d) {
        return TORCH_GUARD_OR_FALSE(one.sym_size(d).sym_eq(other.sym_size(d)));
    };
    const bool heads = equal(key, value, 1) &&
                       (grouped ? TORCH_GUARD_OR_FALSE((query.sym_size(1) % key.sym_size(1)).sym_eq(0))
                                : equal(query, key, 1));
    const bool sizes = heads && at_most(query, 3, widest) && at_most(value, 3, widest) &&
                       equal(query, key, 3) && equal(key, value, 2) && equal(query, key, 0) &&
                       equal(query, value, 0) && at_most(query, 0, most_groups) &&
                       at_most(query, 1, most_groups);
    return types && sizes && (!mask || !mask->defined() || mask->dim() <= 4);
}

/// Whether a tracer, such as that of torch.compile, records the call instead of computing it.
bool is_traced(const Tensor& tensor) {
    return tensor.key_set().has_any(
        c10::DispatchKeySet({c10::DispatchKey::Python, c10::DispatchKey::Functionalize,
                             c10::DispatchKey::FuncTorchDynamicLayerBackMode}));
}

} // namespace

std::int64_t choose_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                              const OptionalTensor& mask, double dropout, bool /*causal*/,
                              std::optional<double> /*scale*/, bool grouped) {
    const bool allowed = at::globalContext().userEnabledOverrideableSDP();
    // When PyTorch traces the operator, it assumes that no seed is returned, so the backward pass would get
    // none.
    const bool seed_is_lost = dropout != 0 && is_traced(query);
    const bool fused = allowed && !seed_is_lost && has_kernel(query, key, value, mask, grouped);
    return static_cast<std::int64_t>(fused ? at::SDPBackend::overrideable : at::SDPBackend::math);
}

namespace {

/// Whether each row of a [batch, heads, rows, width] tensor can be loaded in aligned vectors of this many
/// elements.
bool is_in_groups(const Tensor& tensor, std::int64_t numbers) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(numbers * tensor.element_size());
    if (tensor.size(3) % numbers != 0 || raw_address(tensor) % bytes != 0)
        return false;
    for (std::int64_t d = 0; d < 3; ++d)
        if (tensor.size(d) != 1 && tensor.stride(d) % numbers != 0)
            return false;
    return true;
}

/// The 64-bit words of the kernels' parameter block.
enum Word : std::size_t {
    of_query,
    of_key,
    of_value,
    of_bias,
    of_output,
    of_log_sums,
    of_grad_output,
    of_output_dots,
    of_grad_query,
    of_grad_key,
    of_grad_value,
    of_grad_bias,
    of_carried,
    strides,
    zeros = strides + 17, ///< two words, aligned to 16 bytes
    shared_by = zeros + 2,
    dropout_key,
    dropout_rate,
    words
};
static_assert(zeros % 2 == 0);

/// The dropout rate of a call, and the random key that decides which weights are dropped.
struct Dropout {
    double rate = 0;
    std::uint64_t key = 0;
};

/// Draws a new key from the device's generator; with a rate of 0, it draws nothing.
Dropout next_dropout(double rate, DeviceIndex index) {
    TORCH_CHECK(rate >= 0 && rate <= 1, "dropout probability has to be between 0 and 1, but got ", rate);
    if (rate == 0)
        return {};
    const PhiloxState state = reserve_random(std::nullopt, index, 4);
    std::uint64_t key = state.seed + state.offset * 0x9e3779b97f4a7c15u; // mixed as in SplitMix64
    key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9u;
    key = (key ^ key >> 27) * 0x94d049bb133111ebu;
    return {rate, key ^ key >> 31};
}

/// The tensors of one attention and its launches.
class Attention {
  public:
    Attention(const Tensor& query, const Tensor& key, const Tensor& value, const OptionalTensor& bias,
              bool causal, std::optional<double> scale, const Dropout& dropout)
        : query_(rows(query)), key_(rows(key)), value_(rows(value)), causal_(causal),
          has_dropout_(dropout.rate != 0),
          in_quads_(is_in_groups(query_, 4) && is_in_groups(key_, 4) && is_in_groups(value_, 4)) {
        TORCH_CHECK_NOT_IMPLEMENTED(has_kernel(query, key, value, bias, true), "attention of these tensors");
        set(of_query, 0, query_);
        set(of_key, 1, key_);
        set(of_value, 2, value_);
        if (bias && bias->defined()) {
            TORCH_CHECK_NOT_IMPLEMENTED(bias->scalar_type() == query.scalar_type(),
                                        "attention with a bias of ", bias->scalar_type());
            bias_ = bias->expand({query.size(0), query.size(1), query.size(2), key.size(2)});
            block_[of_bias] = raw_address(bias_);
            for (std::size_t d = 0; d < 4; ++d)
                block_[strides + 12 + d] =
                    static_cast<std::uint64_t>(bias_.stride(static_cast<std::int64_t>(d)));
        }
        block_[shared_by] = static_cast<std::uint64_t>(query.size(1) / key.size(1));
        block_[dropout_key] = dropout.key;
        block_[dropout_rate] = rate_word(dropout.rate);
        parameters_.queries = static_cast<std::uint32_t>(query.size(2));
        parameters_.keys = static_cast<std::uint32_t>(key.size(2));
        parameters_.width = static_cast<std::uint32_t>(query.size(3));
        parameters_.value_width = static_cast<std::uint32_t>(value.size(3));
        parameters_.heads = static_cast<std::uint32_t>(query.size(1));
        const std::int64_t rows = query.size(0) * query.size(1) * query.size(2);
        TORCH_CHECK_NOT_IMPLEMENTED(rows < (std::int64_t{1} << 31), "attention of ", rows, " queries");
        parameters_.rows = static_cast<std::uint32_t>(rows);
        parameters_.scale =
            static_cast<float>(scale.value_or(1 / std::sqrt(static_cast<double>(query.size(3)))));
        if (parameters_.scale > std::numeric_limits<float>::min())
            units_ = products::unit_attention(plans().device(), element_type(query.scalar_type()),
                                              static_cast<std::uint32_t>(width()));
    }

    std::tuple<Tensor, Tensor> forward() {
        const Tensor output =
            at::empty({query_.size(0), query_.size(1), query_.size(2), value_.size(3)}, query_.options());
        const Tensor log_sums = row_numbers();
        block_[of_output] = raw_address(output);
        block_[of_log_sums] = raw_address(log_sums);
        run_pass({"forward",
                  products::AttentionPass::forward,
                  units_ ? &units_->forward : nullptr,
                  {query_.size(2), key_.size(2), 1, 1, 2},
                  {query_, key_, value_},
                  {writes(output), writes(log_sums)},
                  {output, log_sums}});
        return {output, log_sums};
    }

    /// Returns the gradients of query, key, value and bias. The bias's gradient has the sizes `bias_sizes`;
    /// it is undefined unless requested.
    std::tuple<Tensor, Tensor, Tensor, Tensor> backward(const Tensor& grad_output, const Tensor& output,
                                                        const Tensor& log_sums, at::IntArrayRef bias_sizes,
                                                        bool wants_grad_bias) {
        const Tensor gradient = rows(grad_output), outputs = output.contiguous(), dots = row_numbers();
        set(of_grad_output, 3, gradient);
        in_quads_ = in_quads_ && is_in_groups(gradient, 4);
        block_[of_output] = raw_address(outputs);
        block_[of_log_sums] = raw_address(log_sums);
        block_[of_output_dots] = raw_address(dots);
        const auto like = [](const Tensor& t) { return at::empty(t.sizes(), t.options()); };
        const Tensor grad_query = like(query_), grad_key = empty_for_query_heads(key_),
                     grad_value = empty_for_query_heads(value_);
        block_[of_grad_query] = raw_address(grad_query);
        block_[of_grad_key] = raw_address(grad_key);
        block_[of_grad_value] = raw_address(grad_value);
        Tensor grad_bias;
        wants_grad_bias_ = wants_grad_bias && bias_.defined();
        if (wants_grad_bias_) {
            grad_bias = at::empty(bias_.sizes(), bias_.options());
            block_[of_grad_bias] = raw_address(grad_bias);
        }
        run(kernels::attention_output_dots.kernel, linear_groups(parameters_.rows, 16),
            {reads(gradient), reads(outputs), writes(dots)});
        std::vector<Access> of_queries{reads(gradient), reads(log_sums), reads(dots), writes(grad_query)};
        if (wants_grad_bias_)
            of_queries.push_back(writes(grad_bias));
        const std::vector<Access> of_keys{reads(gradient), reads(log_sums), reads(dots), writes(grad_key),
                                          writes(grad_value)};
        const std::vector<Tensor> operands{query_, key_, value_, gradient};
        // The kernels on matrix units do not compute the bias's gradient.
        const bool on_units = units_ && !wants_grad_bias_;
        run_pass({"gradient of queries",
                  products::AttentionPass::of_queries,
                  on_units ? &units_->of_queries : nullptr,
                  {query_.size(2), key_.size(2), 2, 1, 0},
                  operands,
                  of_queries,
                  {grad_query}});
        run_pass({"gradients of keys and values",
                  products::AttentionPass::of_keys,
                  on_units ? &units_->of_keys : nullptr,
                  {key_.size(2), query_.size(2), 2, 2, 0},
                  operands,
                  of_keys,
                  {grad_key, grad_value}});
        return {grad_query, summed_over_shared_heads(grad_key), summed_over_shared_heads(grad_value),
                wants_grad_bias_ ? at::sum_to(grad_bias, bias_sizes) : Tensor()};
    }

  private:
    static Tensor rows(const Tensor& tensor) {
        return tensor.stride(3) == 1 || tensor.size(3) == 1 ? tensor : tensor.contiguous();
    }
    Tensor row_numbers() const {
        return at::empty({query_.size(0), query_.size(1), query_.size(2)},
                         query_.options().dtype(at::kFloat));
    }
    /// Packs the rate for the kernels. Lower half: a weight with a smaller hash is dropped. Upper half:
    /// 1 / (1 - rate) as a float.
    static std::uint64_t rate_word(double rate) {
        const double least = std::min(std::round(rate * 0x1p32), 0x1p32 - 1);
        const float factor = rate < 1 ? static_cast<float>(1 / (1 - rate)) : 0.0F;
        return static_cast<std::uint64_t>(least) | std::uint64_t{std::bit_cast<std::uint32_t>(factor)} << 32;
    }
    /// Allocates a gradient of keys or values with one head for each head of the queries.
    Tensor empty_for_query_heads(const Tensor& t) const {
        return at::empty({t.size(0), query_.size(1), t.size(2), t.size(3)}, t.options());
    }
    /// Sums the gradients of those query heads that share a head of keys and values.
    Tensor summed_over_shared_heads(const Tensor& gradient) const {
        const std::int64_t heads = key_.size(1);
        return heads == query_.size(1) ? gradient : gradient.unflatten(1, {heads, -1}).sum(2);
    }
    void set(Word word, std::size_t which, const Tensor& tensor) {
        block_[word] = raw_address(tensor);
        for (std::size_t d = 0; d < 3; ++d)
            block_[strides + which * 3 + d] =
                static_cast<std::uint64_t>(tensor.stride(static_cast<std::int64_t>(d)));
    }
    Groups tiles(std::int64_t rows, std::int64_t rows_of_tile) const {
        return {static_cast<std::uint32_t>(kernels::ceil_div(rows, rows_of_tile)), parameters_.heads,
                static_cast<std::uint32_t>(query_.size(0))};
    }
    std::int64_t width() const { return std::max(query_.size(3), value_.size(3)); }
    const products::Planner& plans() const { return planner(query_.device().index()); }

    /// The loops of a kernel whose workgroups divide `rows` rows among themselves and iterate over `length`
    /// rows of the other operands. Every 64 of those cost `products` tile products and `weighted_sums`
    /// weighted sums. Between launches, each row keeps its weighted sums and `numbers` more values in memory.
    struct Walk {
        std::int64_t rows, length, products, weighted_sums, numbers;
    };
    /// A pass with its operands and results.
    struct Pass {
        const char* name;
        products::AttentionPass kind;
        const products::UnitPass* on_units; ///< null: not on matrix units
        Walk walk;
        std::vector<Tensor> operands;
        std::vector<Access> accesses; ///< beyond those of query, key, value and bias
        std::vector<Tensor> results;
    };

    products::AttentionShape shape_of(const Pass& pass) const {
        return {.pass = pass.kind,
                .heads = query_.size(0) * query_.size(1),
                .rows = pass.walk.rows,
                .others = pass.walk.length,
                .width = width(),
                .in_quads = in_quads_,
                .has_bias = bias_.defined()};
    }
    void run_pass(const Pass& pass) {
        const bool on_units = pass.on_units != nullptr && fits(*pass.on_units, pass.walk, pass.operands);
        if (is_tuned(pass.results)) {
            run_tuned(pass, on_units);
            return;
        }
        if (on_units)
            run_with(pass, std::nullopt);
        else
            run_with(pass, products::attention_tile(plans().device(), shape_of(pass)));
    }
    /// Computes the pass in such tiles, or on matrix units if there is no tile.
    void run_with(const Pass& pass, const std::optional<products::AttentionTile>& tile) {
        if (tile)
            run_in_steps(pass, *tile);
        else
            run_on_units(*pass.on_units, pass.walk, pass.operands, pass.accesses);
    }
    /// Runs the kernel that measures fastest.
    void run_tuned(const Pass& pass, bool on_units) {
        const products::AttentionShape shape = shape_of(pass);
        const products::AttentionTile usual = products::attention_tile(plans().device(), shape);
        std::vector<std::optional<products::AttentionTile>> ways;
        if (on_units)
            ways.push_back(std::nullopt);
        ways.push_back(usual);
        for (const products::AttentionTile& tile : products::possible_attention_tiles(shape))
            if (tile != usual)
                ways.push_back(tile);
        TunedWork work{
            .key = std::string(products::name(element_type(query_.scalar_type()))) + " attention, " +
                   pass.name + (causal_ ? ", causal" : "") + (bias_.defined() ? ", biased" : "") +
                   (wants_grad_bias_ ? " with its gradient" : "") + (has_dropout_ ? ", dropout" : "") + ", " +
                   std::to_string(shape.heads) + " x " + std::to_string(shape.rows) + "x" +
                   std::to_string(shape.others) + "x" + std::to_string(shape.width),
            .names = {},
            .run = [&](std::size_t i) { run_with(pass, ways[i]); },
            .results = pass.results,
            // On matrix units, attention weights are rounded to the operands' dtype.
            .tolerance = 8 * sum_tolerance(query_.scalar_type(), shape.others)};
        for (const auto& tile : ways)
            work.names.push_back(tile ? products::name(*tile) : "units");
        run_with(pass, ways[tuned(work)]);
    }

    /// Queues one launch, or several if the kernel's loops would exceed most_iterations.
    void run_in_steps(const Pass& pass, const products::AttentionTile& tile) {
        const Walk& walk = pass.walk;
        std::vector<Access> accesses = pass.accesses;
        const std::int64_t groups = products::attention_groups(width()), columns = groups * group_columns;
        // The test that ends a loop counts as an iteration, too.
        const std::int64_t of_product = columns / slice * (2 + slice / 4) + 1;
        const std::int64_t of_sum = 2 * groups * 2 + tile_columns / 4 + 1;
        const std::int64_t of_tile = 1 + walk.products * of_product + walk.weighted_sums * of_sum;
        const std::int64_t step = most_iterations / of_tile * tile_columns;
        in_steps_ = walk.length > step;
        Tensor carried;
        if (in_steps_) {
            carried = at::empty(
                {query_.size(0), query_.size(1), walk.rows, walk.weighted_sums * columns + walk.numbers},
                query_.options().dtype(at::kFloat));
            block_[of_carried] = raw_address(carried);
            accesses.push_back(writes(carried));
        }
        for (std::int64_t first = 0; first < walk.length; first += step) {
            parameters_.first = static_cast<std::uint32_t>(first);
            parameters_.end = static_cast<std::uint32_t>(std::min(first + step, walk.length));
            run(products::attention_kernel(pass.kind, tile.wide),
                tiles(walk.rows, tile.rows_of_thread * row_groups), accesses, tile.rows_of_thread);
        }
        in_steps_ = false;
    }

    /// Bytes from one row to the next.
    static std::uint64_t row_bytes(const Tensor& tensor) {
        return tensor.size(2) == 1 ? 0
                                   : static_cast<std::uint64_t>(tensor.stride(2)) *
                                         static_cast<std::uint64_t>(tensor.element_size());
    }
    /// Whether the work fits in one launch on matrix units.
    static bool fits(const products::UnitPass& kernel, const Walk& walk, at::TensorList operands) {
        return walk.length / kernel.step < most_iterations && walk.rows / kernel.rows < most_groups &&
               std::ranges::all_of(operands, [](const Tensor& tensor) {
                   return row_bytes(tensor) <= products::most_row_bytes;
               });
    }
    /// operands: query, key, value and, in the backward pass, the output's gradient.
    void run_on_units(const products::UnitPass& kernel, const Walk& walk, at::TensorList operands,
                      std::vector<Access> accesses) {
        add_reads(accesses);
        kernels::AttentionUnitsConstants constants = kernel.constants;
        constants.causal = causal_;
        constants.has_bias = bias_.defined();
        constants.has_dropout = has_dropout_;
        constants.in_eights =
            std::ranges::all_of(operands, [](const Tensor& tensor) { return is_in_groups(tensor, 8); });
        const auto stride = [&](std::size_t i) {
            return i < operands.size() ? static_cast<std::uint32_t>(row_bytes(operands[i])) : 0;
        };
        const UploadedBlock block(query_.device().index(), std::span<const std::uint64_t>(block_));
        const kernels::AttentionUnitsParameters parameters{.block = block.address(),
                                                           .queries = parameters_.queries,
                                                           .keys = parameters_.keys,
                                                           .width = parameters_.width,
                                                           .value_width = parameters_.value_width,
                                                           .heads = parameters_.heads,
                                                           .scale = parameters_.scale,
                                                           .query_stride = stride(0),
                                                           .key_stride = stride(1),
                                                           .value_stride = stride(2),
                                                           .grad_stride = stride(3)};
        launch(query_.device().index(), *kernel.kernel, tiles(walk.rows, kernel.rows),
               std::as_bytes(std::span(&parameters, 1)), accesses, constants.list());
    }

    void add_reads(std::vector<Access>& accesses) const {
        for (const Tensor& tensor : {query_, key_, value_, bias_})
            if (tensor.defined())
                accesses.push_back(reads(tensor));
    }
    void run(const kernels::Kernel& kernel, Groups groups, std::vector<Access> accesses,
             std::int64_t rows_of_thread = 8) {
        add_reads(accesses);
        const kernels::AttentionConstants constants{
            .dtype = dtype_code(query_.scalar_type()),
            .causal = causal_,
            .has_bias = bias_.defined(),
            .has_dropout = has_dropout_,
            .in_quads = in_quads_,
            .rows_of_thread = static_cast<std::uint32_t>(rows_of_thread),
            .result_quads = static_cast<std::uint32_t>(products::attention_groups(width())),
            .tile_quads =
                static_cast<std::uint32_t>((rows_of_thread * row_groups + tile_columns) * (slice / 4 + 1)),
            .wants_grad_bias = wants_grad_bias_,
            .in_steps = in_steps_};
        const UploadedBlock block(query_.device().index(), std::span<const std::uint64_t>(block_));
        parameters_.block = block.address();
        launch(query_.device().index(), kernel, groups, std::as_bytes(std::span(&parameters_, 1)), accesses,
               constants.list());
    }

    Tensor query_, key_, value_, bias_;
    bool causal_, has_dropout_, in_quads_, wants_grad_bias_ = false, in_steps_ = false;
    kernels::AttentionParameters parameters_{};
    std::optional<products::UnitAttention> units_;
    std::array<std::uint64_t, words> block_{};
};

using Forward = std::tuple<Tensor, Tensor, Tensor, Tensor, c10::SymInt, c10::SymInt, Tensor, Tensor, Tensor>;

Forward attention(const Tensor& query, const Tensor& key, const Tensor& value, const OptionalTensor& bias,
                  double dropout, bool causal, bool /*return_debug_mask*/, std::optional<double> scale) {
    const Dropout one = next_dropout(dropout, query.device().index());
    auto [output, log_sums] = Attention(query, key, value, bias, causal, scale, one).forward();
    const Tensor seed =
        dropout != 0 ? at::scalar_tensor(std::bit_cast<std::int64_t>(one.key), at::kLong) : Tensor();
    return {output, log_sums, Tensor(), Tensor(), c10::SymInt(query.size(2)), c10::SymInt(key.size(2)),
            seed,   Tensor(), Tensor()};
}

std::tuple<Tensor, Tensor, Tensor, Tensor>
attention_backward(const Tensor& grad_out, const Tensor& query, const Tensor& key, const Tensor& value,
                   const Tensor& bias, std::array<bool, 4> grad_input_mask, const Tensor& out,
                   const Tensor& logsumexp, const Tensor& /*cum_seq_q*/, const Tensor& /*cum_seq_k*/,
                   std::int64_t /*max_q*/, std::int64_t /*max_k*/, double dropout, bool causal,
                   const Tensor& philox_seed, const Tensor& /*philox_offset*/, std::optional<double> scale) {
    const OptionalTensor added = bias.defined() ? OptionalTensor(bias) : std::nullopt;
    Dropout one{.rate = dropout};
    if (dropout != 0) {
        TORCH_CHECK(philox_seed.defined(), "the backward pass of attention with dropout needs the seed that "
                                           "the forward pass returned");
        one.key = std::bit_cast<std::uint64_t>(philox_seed.item<std::int64_t>());
    }
    return Attention(query, key, value, added, causal, scale, one)
        .backward(grad_out, out, logsumexp, bias.defined() ? bias.sizes() : at::IntArrayRef(),
                  grad_input_mask[3]);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    register_operator(m, "_fused_sdp_choice", &choose_attention);
    register_operator(m, "_scaled_dot_product_fused_attention_overrideable", &attention);
    register_operator(m, "_scaled_dot_product_fused_attention_overrideable_backward", &attention_backward);
}

} // namespace

} // namespace rvk

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &rvk::choose_attention)
} // namespace at::native
