#include "gpu/stages.h"

#include <rekindle/kernels/ceil_div.h>
#include <rekindle/mlp/dropout.h>

#include <algorithm>
#include <span>
#include <utility>

namespace rekindle::mlp::gpu {

namespace {

/// Merges layers into stages.
class Builder {
  public:
    Builder(const ModelDescription& model, const Layout& layout)
        : tensor_(layout.tensors().begin()), weight_floats_(4 * std::size_t{layout.weight_quads()}) {
        network_.inputs = width_ = static_cast<std::uint32_t>(model.inputs);
        const bool ends_linear = model.layers.back().kind == Layer::Kind::linear;
        const std::size_t inner = model.layers.size() - (ends_linear ? 1 : 0);
        for (std::size_t i = 0; i < inner; ++i)
            add(model.layers[i], i);
        Head& head = network_.head;
        head.linear = ends_linear;
        head.width = width_;
        head.outputs = ends_linear ? static_cast<std::uint32_t>(model.layers.back().outputs) : width_;
        head.input_gradient = has_parameters_;
        if (ends_linear)
            head.vectors = vector_quads(*tensor_);
        connect();
    }
    Network take() { return std::move(network_); }

  private:
    Stage& add_stage(Core core, std::size_t width) {
        Stage s;
        s.core = core;
        s.inputs = width_;
        s.width = width_ = static_cast<std::uint32_t>(width);
        s.input_gradient = has_parameters_;
        network_.stages.push_back(s);
        return network_.stages.back();
    }
    /// The last stage if an activation or a dropout can still join it, otherwise a new one.
    Stage& joinable(bool takes_activation) {
        std::vector<Stage>& stages = network_.stages;
        const bool open = !stages.empty() && stages.back().core != Core::residual_begin &&
                          stages.back().core != Core::residual_end && !stages.back().drops() &&
                          !(takes_activation && stages.back().function != Activation::identity);
        return open ? stages.back() : add_stage(Core::none, width_);
    }
    std::uint32_t vector_quads(const Tensor& tensor) const {
        return static_cast<std::uint32_t>((tensor.offset - weight_floats_) / 4);
    }

    void add(const Layer& layer, std::size_t position) {
        switch (layer.kind) {
        case Layer::Kind::linear: {
            Stage& s = add_stage(Core::linear, layer.outputs);
            s.weights = static_cast<std::uint32_t>(tensor_++->offset / 4);
            s.vectors = vector_quads(*tensor_++);
            if (s.input_gradient)
                s.transposed =
                    std::exchange(network_.transposed_quads, network_.transposed_quads + 4 * s.tiles());
            has_parameters_ = true;
            return;
        }
        case Layer::Kind::layer_norm: {
            Stage& s = add_stage(Core::layer_norm, layer.outputs);
            s.epsilon = static_cast<float>(layer.epsilon);
            s.vectors = vector_quads(*tensor_);
            tensor_ += 2;
            has_parameters_ = true;
            return;
        }
        case Layer::Kind::activation:
            if (layer.activation != Activation::identity)
                joinable(true).function = layer.activation;
            return;
        case Layer::Kind::dropout:
            if (dropout_threshold(layer.dropout_rate) != 0) {
                Stage& s = joinable(false);
                s.dropout = dropouts_;
                s.dropout_layer = static_cast<std::uint32_t>(position);
            }
            ++dropouts_;
            return;
        case Layer::Kind::residual_begin:
            open_.push_back(network_.stages.size());
            add_stage(Core::residual_begin, width_);
            return;
        case Layer::Kind::residual_end: {
            const std::size_t begin = open_.back();
            open_.pop_back();
            network_.stages[begin].partner = network_.stages.size();
            add_stage(Core::residual_end, width_).partner = begin;
            return;
        }
        }
    }

    /// Determines which gradients are needed, and the operation that turns each into the gradient before its
    /// producer's activation.
    void connect() {
        std::vector<Stage>& stages = network_.stages;
        for (std::size_t i = 0; i < stages.size(); ++i) {
            Stage& s = stages[i];
            const bool needed =
                i + 1 < stages.size() ? stages[i + 1].input_gradient : network_.head.input_gradient;
            s.keeps_derivative =
                needed &&
                (s.drops() || (s.function != Activation::identity && s.function != Activation::relu));
            const Epilogue epilogue = s.keeps_derivative               ? Epilogue::derivative
                                      : s.function == Activation::relu ? Epilogue::positive
                                                                       : Epilogue::plain;
            (i + 1 < stages.size() ? stages[i + 1].epilogue : network_.head.epilogue) = epilogue;
        }
    }

    Network network_;
    std::span<const Tensor>::iterator tensor_;
    std::size_t weight_floats_;
    std::uint32_t width_ = 0;
    std::uint32_t dropouts_ = 0; ///< layers so far
    bool has_parameters_ = false;
    std::vector<std::size_t> open_;
};

/// A piece of shared memory that is needed in the phases [first, last] of a step.
struct Block {
    std::uint32_t size = 0;
    std::size_t first = 0, last = 0;
    std::uint32_t at = 0;

    void use(std::size_t phase) { last = std::max(last, phase); }
    bool meets(const Block& other) const { return first <= other.last && other.first <= last; }
};

/// Places blocks as low as possible so that blocks needed at the same time do not overlap, largest first.
/// Returns the total number of quads.
std::uint32_t arrange(std::vector<Block>& blocks) {
    std::vector<Block*> order;
    for (Block& block : blocks)
        if (block.size > 0)
            order.push_back(&block);
    std::stable_sort(order.begin(), order.end(),
                     [](const Block* a, const Block* b) { return a->size > b->size; });
    std::uint32_t total = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        std::vector<const Block*> taken;
        for (std::size_t j = 0; j < i; ++j)
            if (order[j]->meets(*order[i]))
                taken.push_back(order[j]);
        std::sort(taken.begin(), taken.end(), [](const Block* a, const Block* b) { return a->at < b->at; });
        std::uint32_t at = 0;
        for (const Block* other : taken)
            if (other->at < at + order[i]->size)
                at = std::max(at, other->at + other->size);
        order[i]->at = at;
        total = std::max(total, at + order[i]->size);
    }
    return total;
}

/// Phases of a step with S stages: 0 loads the inputs, 1 + s runs stage s forward, 1 + S runs the head, and
/// the later phases run the stages backward.
class Placement {
  public:
    Placement(Network& network, std::uint32_t rows, std::uint32_t dividing_threads)
        : network_(network), rows_(rows), threads_(dividing_threads) {
        const std::size_t count = network_.stages.size();
        for (std::size_t i = 0; i < count; ++i)
            add_values(i);
        finish_values();
        for (std::size_t i = 0; i < count; ++i)
            add_backward(i);
        for (std::size_t i = 0; i < count; ++i)
            add_partials(i);
        network_.activation_quads = arrange(blocks_);
        write_places();
    }

  private:
    std::size_t stage_count() const { return network_.stages.size(); }
    std::size_t forward_phase(std::size_t stage) const { return 1 + stage; }
    std::size_t head_phase() const { return 1 + stage_count(); }
    std::size_t backward_phase(std::size_t stage) const { return head_phase() + (stage_count() - stage); }

    std::size_t add(std::uint32_t size, std::size_t first, std::size_t last) {
        blocks_.push_back({size, first, last});
        return blocks_.size() - 1;
    }
    std::uint32_t matrix(std::uint32_t width) const { return rows_ * row_stride(quads(width)); }

    /// values_[i]: the block of stage i's input; the start of a residual passes its input on.
    void add_values(std::size_t i) {
        const Stage& s = network_.stages[i];
        if (i == 0)
            values_.push_back(add(matrix(network_.inputs), 0, 0));
        Block& input = blocks_[values_[i]];
        input.use(forward_phase(i));
        if (s.core == Core::linear || (s.input_gradient && s.epilogue == Epilogue::positive))
            input.use(backward_phase(i));
        if (s.core == Core::residual_end)
            blocks_[values_[s.partner]].use(forward_phase(i));
        const std::size_t phase = forward_phase(i);
        values_.push_back(s.core == Core::residual_begin ? values_[i] : add(matrix(s.width), phase, phase));
    }
    void finish_values() {
        if (values_.empty())
            values_.push_back(add(matrix(network_.inputs), 0, 0));
        Block& last = blocks_[values_.back()];
        last.use(head_phase());
        if (network_.head.linear) // its gradient is computed with the last stage's
            last.use(head_phase() + 1);
    }

    bool needs_output_gradient(std::size_t i) const {
        return i + 1 < stage_count() ? network_.stages[i + 1].input_gradient : network_.head.input_gradient;
    }
    void add_backward(std::size_t i) {
        const Stage& s = network_.stages[i];
        const std::size_t written = i + 1 < stage_count() ? backward_phase(i + 1) : head_phase();
        std::size_t last = backward_phase(i);
        if (s.core == Core::residual_end)
            last = backward_phase(s.partner);
        gradients_.push_back(needs_output_gradient(i)
                                 ? add(matrix(s.width), s.keeps_derivative ? forward_phase(i) : written, last)
                                 : none);
        normalized_.push_back(none);
        rstd_.push_back(none);
        if (s.core == Core::layer_norm) {
            // The normalized values replace the input if nothing else reads it later.
            Block& input = blocks_[values_[i]];
            if (input.last == forward_phase(i)) {
                input.use(backward_phase(i));
                normalized_.back() = values_[i];
            } else {
                normalized_.back() = add(matrix(s.width), forward_phase(i), backward_phase(i));
            }
            rstd_.back() = add(rows_, forward_phase(i), backward_phase(i));
        }
    }

    /// The parts of a product with so many quads of columns, each the sum of `depth` quads: as many as there
    /// are threads for each tile of four rows.
    std::uint32_t parts(std::uint32_t columns, std::uint32_t depth) const {
        const std::uint32_t tiles = columns * (rows_ / 4);
        if (threads_ == 0 || rows_ % 4 != 0)
            return 1;
        for (const std::uint32_t count : {4u, 2u})
            if (tiles * count <= threads_ && depth >= count)
                return count;
        return 1;
    }
    /// The sums that the parts give to each other in one phase.
    std::size_t partials(std::uint32_t columns, std::uint32_t parts, std::size_t phase) {
        return parts == 1 ? none : add(partial_quads(columns, rows_, parts), phase, phase);
    }
    void add_partials(std::size_t i) {
        Stage& s = network_.stages[i];
        const bool linear = s.core == Core::linear;
        const std::uint32_t inputs = quads(s.inputs), outputs = quads(s.width);
        s.forward_parts = linear ? parts(outputs, inputs) : 1;
        s.backward_parts = linear && s.input_gradient ? parts(inputs, outputs) : 1;
        forward_partials_.push_back(partials(outputs, s.forward_parts, forward_phase(i)));
        backward_partials_.push_back(partials(inputs, s.backward_parts, backward_phase(i)));
    }

    std::uint32_t place(std::size_t block) const { return block == none ? 0 : blocks_[block].at; }
    void write_places() {
        for (std::size_t i = 0; i < stage_count(); ++i) {
            Stage& s = network_.stages[i];
            s.input_at = place(values_[i]);
            s.value_at = place(values_[i + 1]);
            s.gradient_at = place(gradients_[i]);
            s.input_gradient_at = i > 0 ? place(gradients_[i - 1]) : 0;
            s.rstd_at = place(rstd_[i]);
            s.forward_partials_at = place(forward_partials_[i]);
            s.backward_partials_at = place(backward_partials_[i]);
            s.extra_at = s.core == Core::residual_begin ? place(gradients_[s.partner])
                         : s.core == Core::residual_end ? place(values_[s.partner])
                                                        : place(normalized_[i]);
        }
        network_.input_at = place(values_.front());
        network_.head.input_at = place(values_.back());
        network_.head.gradient_at = stage_count() > 0 ? place(gradients_.back()) : 0;
    }

    static constexpr std::size_t none = static_cast<std::size_t>(-1);
    Network& network_;
    std::uint32_t rows_, threads_;
    std::vector<Block> blocks_;
    std::vector<std::size_t> values_, gradients_, normalized_, rstd_, forward_partials_, backward_partials_;
};

/// Chooses the owner of each quad of a network's vectors, as a position: p is slot p / threads of thread p %
/// threads.
class Ownership {
  public:
    Ownership(Network& network, std::uint32_t threads, bool with_tiles)
        : network_(network), threads_(threads), with_tiles_(with_tiles) {
        std::uint32_t quads = network.head.vector_quads();
        for (const Stage& s : network.stages)
            quads += s.vector_quads();
        taken_.resize(std::size_t{kernels::ceil_div(quads, threads)} * threads);
        if (!assign_all())
            assign_in_order();
    }

  private:
    bool take(std::uint32_t first, std::uint32_t count) {
        if (first + count > taken_.size())
            return false;
        const auto begin = taken_.begin() + first, end = begin + count;
        if (std::find(begin, end, true) != end)
            return false;
        std::fill(begin, end, true);
        return true;
    }
    /// Chooses owners for which bias_follows_tiles (ownership.slang) is true.
    bool assign_to_tiles(Stage& s) {
        const std::uint32_t columns = s.vector_quads();
        if (!with_tiles_ || s.core != Core::linear || threads_ % columns != 0)
            return false;
        for (s.first_owner = 0; s.first_owner + columns <= std::min(threads_, s.tiles());
             s.first_owner += columns)
            if (take(s.first_owner, columns))
                return true;
        return false;
    }
    /// Takes the last free positions, because the first threads own the most tiles.
    bool assign_to_last(std::uint32_t& first_owner, std::uint32_t count) {
        for (std::size_t end = taken_.size(); end >= count; --end)
            if (take(static_cast<std::uint32_t>(end - count), count)) {
                first_owner = static_cast<std::uint32_t>(end - count);
                return true;
            }
        return false;
    }
    bool assign_all() {
        std::vector<Stage*> others;
        for (Stage& s : network_.stages)
            if (s.vector_quads() > 0 && !assign_to_tiles(s))
                others.push_back(&s);
        bool all = assign_to_last(network_.head.first_owner, network_.head.vector_quads());
        for (Stage* const s : others)
            all = all && assign_to_last(s->first_owner, s->vector_quads());
        return all;
    }
    void assign_in_order() {
        for (Stage& s : network_.stages)
            s.first_owner = s.vectors;
        network_.head.first_owner = network_.head.vectors;
    }

    Network& network_;
    std::uint32_t threads_;
    bool with_tiles_;
    std::vector<bool> taken_; ///< whether a position has a quad
};

} // namespace

void Network::assign_vectors(std::uint32_t threads, bool with_tiles) {
    Ownership(*this, threads, with_tiles);
}

void Network::place(std::uint32_t rows, std::uint32_t dividing_threads) {
    Placement(*this, rows, dividing_threads);
}

Network network_of(const ModelDescription& model, const Layout& layout) {
    return Builder(model, layout).take();
}

} // namespace rekindle::mlp::gpu
