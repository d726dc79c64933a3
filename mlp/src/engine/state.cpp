#include "engine/impl.h"

#include <rekindle/base/error.h>
#include <rekindle/base/hash.h>

#include <nlohmann/json.hpp>

#include <bit>
#include <cstring>

namespace rekindle::mlp {

using namespace engine;

namespace {

constexpr std::string_view magic = "rekindle-engine\n";
constexpr std::uint32_t version = 1;
constexpr std::size_t checksum_bytes = 16;
constexpr std::size_t header_bytes =
    magic.size() + sizeof version + 16 + 8 * 8; ///< with identity and Progress

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
        if (size > bytes_.size())
            throw damaged("the state is truncated");
        if (size != 0)
            std::memcpy(to, bytes_.data(), size);
        bytes_ = bytes_.subspan(size);
    }
    std::size_t left() const { return bytes_.size(); }

  private:
    std::span<const std::byte> bytes_;
};

/// What must be equal for the arenas to mean the same.
Hash128 identity(const Engine::Impl& engine) {
    const nlohmann::json json{{"model", engine.model},
                              {"adam", engine.adam()},
                              {"average", engine.training.ema_decay > 0},
                              {"accumulates", engine.training.accumulation_steps > 1}};
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

/// In file order; those that this training does not use are empty.
std::vector<Arena*> Engine::Impl::saved_arenas() {
    return {&parameters, &first_moment, &second_moment, &average, &pending};
}

EngineState Engine::Impl::save() const {
    static_assert(std::endian::native == std::endian::little);
    const auto arenas = const_cast<Impl*>(this)->saved_arenas();
    std::size_t body = header_bytes;
    for (const Arena* arena : arenas)
        body += sizeof(std::uint64_t) + arena->size() * sizeof(float);
    EngineState state{std::vector<std::byte>(body + checksum_bytes)};
    Writer out(state.bytes);
    out.append(magic.data(), magic.size());
    out.value(version);
    const Hash128 id = identity(*this);
    out.value(id.high);
    out.value(id.low);
    write_progress(out, progress);
    for (const Arena* arena : arenas) {
        out.value(static_cast<std::uint64_t>(arena->size()));
        out.append(arena->data(), arena->size() * sizeof(float));
    }
    const Hash128 checksum = hash128(std::span<const std::byte>(state.bytes).first(body));
    out.value(checksum.high);
    out.value(checksum.low);
    return state;
}

void Engine::Impl::restore(const EngineState& state) {
    const std::span<const std::byte> bytes(state.bytes);
    if (bytes.size() < magic.size() + checksum_bytes ||
        std::memcmp(bytes.data(), magic.data(), magic.size()) != 0)
        throw damaged("this is not a training state");
    const auto body = bytes.first(bytes.size() - checksum_bytes);
    Reader tail(bytes.last(checksum_bytes));
    const Hash128 stored{tail.value<std::uint64_t>(), tail.value<std::uint64_t>()};
    if (stored != hash128(body))
        throw damaged("the checksum is wrong: the state is damaged");
    Reader in(body.subspan(magic.size()));
    if (const auto found = in.value<std::uint32_t>(); found != version)
        throw damaged("version " + std::to_string(found)).expected("version " + std::to_string(version));
    const Hash128 id{in.value<std::uint64_t>(), in.value<std::uint64_t>()};
    if (id != identity(*this))
        throw damaged("the state is of another network, optimiser or averaging");
    const Progress read = read_progress(in);
    std::size_t floats = 0;
    for (const Arena* arena : saved_arenas())
        floats += arena->size();
    if (in.left() != floats * sizeof(float) + saved_arenas().size() * sizeof(std::uint64_t))
        throw damaged("the state has another size");
    for (Arena* arena : saved_arenas()) {
        if (in.value<std::uint64_t>() != arena->size())
            throw damaged("the state has another size");
        in.copy(arena->data(), arena->size() * sizeof(float));
    }
    progress = read;
    parameters_changed();
}

} // namespace rekindle::mlp
