/// Model and training descriptions from arbitrary JSON: accepted ones must round-trip, all others must be
/// refused with an Error.

#include <rekindle/foundation/error.h>
#include <rekindle/mlp/model.h>
#include <rekindle/mlp/training.h>

#include <nlohmann/json.hpp>

#include <cstdlib>

namespace {

template <class T>
void check(const nlohmann::json& json) {
    T value;
    try {
        value = json.get<T>();
    } catch (const rekindle::Error&) {
        return;
    }
    if (!(nlohmann::json(value).template get<T>() == value))
        std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const auto json = nlohmann::json::parse(data, data + size, nullptr, false);
    if (json.is_discarded())
        return 0;
    check<rekindle::mlp::ModelDescription>(json);
    check<rekindle::mlp::TrainingSpec>(json);
    return 0;
}
