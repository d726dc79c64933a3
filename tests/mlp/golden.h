#pragma once
/// The golden files that make_golden.py writes with PyTorch; inputs are generated here by the same rule.

#include "networks.h"

#include <rekindle/foundation/file.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace rekindle::mlp::test {

struct GoldenFiles {
    GoldenFiles() : description(nlohmann::json::parse(read_file(path("golden.json")))) {
        const std::string bytes = read_file(path("golden.f32"));
        floats.resize(bytes.size() / sizeof(float));
        std::memcpy(floats.data(), bytes.data(), floats.size() * sizeof(float));
    }
    static std::string path(const char* name) {
        // In this folder, whichever test program reads it.
        const std::filesystem::path tests =
            std::filesystem::path(rekindle::test::data_folder).parent_path().parent_path();
        return (tests / "mlp" / "data" / name).string();
    }

    /// The array at that offset, split into tensors with these shapes.
    std::vector<NamedTensor> tensors(std::vector<NamedTensor> like, std::size_t at) const {
        for (NamedTensor& tensor : like)
            for (float& value : tensor.values)
                value = floats.at(at++);
        return like;
    }

    nlohmann::json description;
    std::vector<float> floats;
};

/// A case from cases.py.
struct GoldenCase {
    explicit GoldenCase(const nlohmann::json& j)
        : name(j.at("name")), model(j.at("model").get<ModelDescription>()),
          training(j.at("training").get<TrainingSpec>()), batch_size(j.at("batch_size")),
          table(model.inputs, j.at("rows"), training.loss.kind == LossSpec::Kind::bce_with_logits) {}
    std::string name;
    ModelDescription model;
    TrainingSpec training;
    std::size_t batch_size;
    Table table;
};

/// Batches of consecutive rows, wrapping around.
inline std::vector<std::uint32_t> wrapped_order(std::size_t rows, std::size_t count) {
    std::vector<std::uint32_t> order(count);
    for (std::size_t i = 0; i < count; ++i)
        order[i] = static_cast<std::uint32_t>(i % rows);
    return order;
}

/// Norm of the difference over the norm of `expected`.
inline double distance(std::span<const float> got, std::span<const float> expected) {
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        difference += std::pow(static_cast<double>(got[i]) - expected[i], 2);
        norm += std::pow(static_cast<double>(expected[i]), 2);
    }
    return std::sqrt(difference / std::max(norm, std::numeric_limits<double>::min()));
}

inline double median(std::vector<double> values) {
    std::ranges::sort(values);
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// Median over the initializations of the distance between `losses` and PyTorch's float64 losses, divided by
/// the same median for PyTorch's float32.
inline double loss_ratio(std::span<const double> losses, const nlohmann::json& seeded) {
    const auto exact = seeded.at("float64").get<std::vector<double>>();
    const auto single = seeded.at("float32").get<std::vector<double>>();
    std::vector<double> ours, theirs;
    for (std::size_t seed = 0; seed < exact.size(); ++seed) {
        ours.push_back(std::abs(losses[seed] - exact[seed]));
        theirs.push_back(std::abs(single[seed] - exact[seed]));
    }
    return median(ours) / median(theirs);
}

/// initial_weights of reference.py: same spread as PyTorch's; gains of norms around one.
inline std::vector<NamedTensor> initial_weights(const ModelDescription& model, std::uint32_t seed) {
    std::vector<NamedTensor> tensors;
    for (std::uint32_t i = 0; i < model.layers.size(); ++i) {
        const Layer& layer = model.layers[i];
        const bool linear = layer.kind == Layer::Kind::linear;
        if (!linear && layer.kind != Layer::Kind::layer_norm)
            continue;
        const auto add = [&](const char* part, std::vector<std::size_t> shape, std::uint32_t stream,
                             const auto& value_of) {
            std::size_t count = 1;
            for (const std::size_t extent : shape)
                count *= extent;
            NamedTensor tensor{layer.name + part, std::move(shape), hashed(count, stream + i + 1000 * seed)};
            std::ranges::transform(tensor.values, tensor.values.begin(), value_of);
            tensors.push_back(std::move(tensor));
        };
        if (linear) {
            const double scale = 1 / std::sqrt(static_cast<double>(layer.inputs));
            const auto scaled = [&](float x) { return static_cast<float>(scale * static_cast<double>(x)); };
            add(".weight", {layer.outputs, layer.inputs}, 100, scaled);
            add(".bias", {layer.outputs}, 200, scaled);
        } else { // in float32, like numpy
            add(".weight", {layer.outputs}, 300, [](float x) { return 1.0f + 0.2f * x; });
            add(".bias", {layer.outputs}, 400, [](float x) { return 0.2f * x; });
        }
    }
    return tensors;
}

} // namespace rekindle::mlp::test
