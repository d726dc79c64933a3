/// Training states with arbitrary content under a correct checksum must be either restored or refused.

#include <rekindle/base/hash.h>
#include <rekindle/foundation/error.h>
#include <rekindle/mlp/engine.h>

#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    using namespace rekindle;
    static mlp::Engine engine = [] {
        const std::size_t hidden[] = {3};
        return mlp::Engine(mlp::ModelDescription::plain(2, hidden), mlp::TrainingSpec{});
    }();
    // The input overwrites the beginning of a valid state; the checksum is then corrected.
    static const mlp::EngineState good = engine.save();
    mlp::EngineState state = good;
    constexpr std::size_t checksum_bytes = 16;
    if (size > state.bytes.size())
        state.bytes.resize(size);
    std::memcpy(state.bytes.data(), data, size);
    const std::size_t body = state.bytes.size() - checksum_bytes;
    const Hash128 hash = hash128(std::span<const std::byte>(state.bytes).first(body));
    std::memcpy(state.bytes.data() + body, &hash.high, 8);
    std::memcpy(state.bytes.data() + body + 8, &hash.low, 8);
    try {
        engine.restore(state);
    } catch (const Error&) {
    }
    return 0;
}
