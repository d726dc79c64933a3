#include <rekindle/base/hash.h>
#include <rekindle/foundation/error.h>

#include <fmt/format.h>

#include <xxhash.h>

namespace rekindle {

namespace {
Hash128 from_xxh(XXH128_hash_t hash) {
    return {hash.high64, hash.low64};
}
} // namespace

std::string Hash128::hex() const {
    return fmt::format("{:016x}{:016x}", high, low);
}

Hash128 hash128(std::span<const std::byte> bytes) {
    return from_xxh(XXH3_128bits(bytes.data(), bytes.size()));
}
Hash128 hash128(std::string_view text) {
    return from_xxh(XXH3_128bits(text.data(), text.size()));
}

struct Hasher::State {
    struct Free {
        void operator()(XXH3_state_t* state) const noexcept { XXH3_freeState(state); }
    };
    std::unique_ptr<XXH3_state_t, Free> xxh{XXH3_createState()};
};

Hasher::Hasher() : state_(std::make_unique<State>()) {
    if (!state_->xxh || XXH3_128bits_reset(state_->xxh.get()) != XXH_OK)
        throw internal_error("out of memory for a hash state");
}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::update(std::span<const std::byte> bytes) {
    XXH3_128bits_update(state_->xxh.get(), bytes.data(), bytes.size());
}
void Hasher::update(std::string_view text) {
    XXH3_128bits_update(state_->xxh.get(), text.data(), text.size());
}
Hash128 Hasher::digest() const {
    return from_xxh(XXH3_128bits_digest(state_->xxh.get()));
}

} // namespace rekindle
