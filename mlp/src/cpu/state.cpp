#include "cpu/state.h"

#include <rekindle/base/hash.h>
#include <rekindle/foundation/error.h>

#include <nlohmann/json.hpp>

#include <bit>
#include <cstring>

namespace rekindle::mlp::cpu {

namespace {

constexpr std::string_view magic = "rekindle-engine\n";
constexpr std::uint32_t version = 1;
constexpr std::size_t checksum_bytes = 16;
constexpr std::size_t header_bytes =
    magic.size() + sizeof version + 16 + std::size_t{8} * 8; ///< with identity and Progress

/// Fills a buffer of known size.
class Writer {
  public:
    explicit Writer(std::span<std::byte> bytes) : left_(bytes) {}
    template <class T>
    void value(const T& v) {
        append(&v, sizeof v);
    }
    void append(const void* data, std::size_t size) {
        if (size != 0)
            std::memcpy(left_.data(), data, size);
        left_ = left_.subspan(size);
    }

  private:
    std::span<std::byte> left_;
};

Error damaged(std::string what) {
    return usage_error(std::move(what)).at("training state");
}

class Reader {
  public:
    explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
    template <class T>
    T value() {
        T v;
        copy(&v, sizeof v);
        return v;
    }
    void copy(void* to, std::size_t size) {
        const std::byte* from = bytes_.data();
        skip(size);
        if (size != 0)
            std::memcpy(to, from, size);
    }
    void skip(std::size_t size) {
        if (size > bytes_.size())
            throw damaged("the training state is truncated");
        bytes_ = bytes_.subspan(size);
    }
    std::size_t left() const { return bytes_.size(); }

  private:
    std::span<const std::byte> bytes_;
};

/// Hash of everything that must be equal for the arenas to have the same meaning.
Hash128 identity(const ModelDescription& model, const TrainingSpec& training) {
    const nlohmann::json json{{"model", model},
                              {"adam", training.optimizer.kind == OptimizerSpec::Kind::adamw},
                              {"average", training.ema_decay > 0},
                              {"accumulates", training.accumulation_steps > 1}};
    return hash128(json.dump());
}

void write_progress(Writer& out, const Progress& p) {
    out.value(p.steps);
    out.value(p.batches);
    out.value(p.pending_batches);
    out.value(p.beta1_power);
    out.value(p.beta2_power);
    out.value(p.plateau.factor);
    out.value(p.plateau.best);
    out.value(p.plateau.bad_epochs);
}

Progress read_progress(Reader& in) {
    Progress p;
    p.steps = in.value<std::uint64_t>();
    p.batches = in.value<std::uint64_t>();
    p.pending_batches = in.value<std::uint64_t>();
    p.beta1_power = in.value<double>();
    p.beta2_power = in.value<double>();
    p.plateau.factor = in.value<double>();
    p.plateau.best = in.value<double>();
    p.plateau.bad_epochs = in.value<std::uint64_t>();
    return p;
}

} // namespace

bool has_array(const TrainingSpec& training, StateArray array) {
    const bool adam = training.optimizer.kind == OptimizerSpec::Kind::adamw;
    switch (array) {
    case StateArray::parameters:
        return true;
    case StateArray::first_moment:
        return adam || training.optimizer.momentum != 0;
    case StateArray::second_moment:
        return adam;
    case StateArray::average:
        return training.ema_decay > 0;
    case StateArray::pending:
        return training.accumulation_steps > 1;
    }
    return false;
}

StateArray moment_array(const TrainingSpec& training, std::string_view name) {
    const bool adam = training.optimizer.kind == OptimizerSpec::Kind::adamw;
    if (name == (adam ? "exp_avg" : "momentum_buffer") && has_array(training, StateArray::first_moment))
        return StateArray::first_moment;
    if (name == "exp_avg_sq" && adam)
        return StateArray::second_moment;
    throw usage_error("the optimizer has no '" + std::string(name) + "'");
}

EngineState write_state(const ModelDescription& model, const TrainingSpec& training, const Progress& progress,
                        const ConstStateArrays& arrays) {
    static_assert(std::endian::native == std::endian::little);
    std::size_t body = header_bytes;
    for (const auto& array : arrays)
        body += sizeof(std::uint64_t) + array.size_bytes();
    EngineState state{std::vector<std::byte>(body + checksum_bytes)};
    Writer out(state.bytes);
    out.append(magic.data(), magic.size());
    out.value(version);
    const Hash128 id = identity(model, training);
    out.value(id.high);
    out.value(id.low);
    write_progress(out, progress);
    // Unless batches are pending, the last array holds leftovers of the gradient of a completed step.
    const std::vector<float> nothing_pending(progress.pending_batches == 0 ? arrays.back().size() : 0);
    for (const auto& array : arrays) {
        const bool left_over = progress.pending_batches == 0 && &array == &arrays.back();
        out.value(static_cast<std::uint64_t>(array.size()));
        out.append(left_over ? nothing_pending.data() : array.data(), array.size_bytes());
    }
    const Hash128 checksum = hash128(std::span<const std::byte>(state.bytes).first(body));
    out.value(checksum.high);
    out.value(checksum.low);
    return state;
}

Progress read_state(const EngineState& state, const ModelDescription& model, const TrainingSpec& training,
                    const StateArrays& arrays) {
    const std::span<const std::byte> bytes(state.bytes);
    if (bytes.size() < magic.size() + checksum_bytes ||
        std::memcmp(bytes.data(), magic.data(), magic.size()) != 0)
        throw damaged("this is not a training state");
    const auto body = bytes.first(bytes.size() - checksum_bytes);
    Reader tail(bytes.last(checksum_bytes));
    const Hash128 stored{tail.value<std::uint64_t>(), tail.value<std::uint64_t>()};
    if (stored != hash128(body))
        throw damaged("the checksum is wrong: the training state is damaged");
    Reader in(body.subspan(magic.size()));
    if (const auto found = in.value<std::uint32_t>(); found != version)
        throw damaged("version " + std::to_string(found)).expected("version " + std::to_string(version));
    const Hash128 id{in.value<std::uint64_t>(), in.value<std::uint64_t>()};
    if (id != identity(model, training))
        throw damaged("the training state belongs to another network, optimizer or averaging");
    const Progress progress = read_progress(in);
    Reader sizes = in;
    for (const auto& array : arrays) {
        if (sizes.value<std::uint64_t>() != array.size())
            throw damaged("the training state has the wrong size");
        sizes.skip(array.size_bytes());
    }
    if (sizes.left() != 0)
        throw damaged("the training state has the wrong size");
    for (const auto& array : arrays) {
        in.skip(sizeof(std::uint64_t));
        in.copy(array.data(), array.size_bytes());
    }
    return progress;
}

} // namespace rekindle::mlp::cpu
