#include "cpu/tensors.h"

#include <rekindle/base/philox.h>
#include <rekindle/foundation/error.h>

#include <algorithm>
#include <cmath>

namespace rekindle::mlp::cpu {

namespace {

/// torch.nn.Linear.reset_parameters, or the original system's kaiming_normal_(nonlinearity='leaky_relu') with
/// zero bias.
float initial_value(const Parameter& p, Initialization initialization, PhiloxStream& random) {
    if (p.role == Parameter::Role::gain)
        return 1;
    if (p.role == Parameter::Role::shift)
        return 0;
    const double inputs = static_cast<double>(p.inputs);
    if (initialization == Initialization::pytorch_default)
        return static_cast<float>((2 * random.next_double() - 1) / std::sqrt(inputs));
    if (p.role == Parameter::Role::bias)
        return 0;
    return static_cast<float>(random.next_normal() * std::sqrt(2 / inputs));
}

std::string shape_text(std::span<const std::size_t> shape) {
    std::string text = "[";
    for (std::size_t i = 0; i < shape.size(); ++i)
        text += (i ? ", " : "") + std::to_string(shape[i]);
    return text + "]";
}

const NamedTensor& find(const Parameter& p, std::span<const NamedTensor> tensors) {
    const auto found = std::ranges::find(tensors, p.name, &NamedTensor::name);
    if (found == tensors.end())
        throw usage_error("the tensor is missing").at(p.name).expected("shape " + shape_text(p.shape()));
    if (found->shape != p.shape() || found->values.size() != p.size())
        throw usage_error("the tensor has shape " + shape_text(found->shape))
            .at(p.name)
            .expected(shape_text(p.shape()));
    return *found;
}

} // namespace

std::vector<NamedTensor> to_tensors(const Plan& plan, std::span<const float> values) {
    std::vector<NamedTensor> result;
    for (const Parameter& p : plan.parameters()) {
        NamedTensor tensor{p.name, p.shape(), std::vector<float>(p.size())};
        for (std::size_t i = 0; i < p.size(); ++i)
            tensor.values[i] = values[p.position(i)];
        result.push_back(std::move(tensor));
    }
    return result;
}

void from_tensors(const Plan& plan, std::span<const NamedTensor> tensors, std::span<float> values) {
    for (const Parameter& p : plan.parameters())
        find(p, tensors);
    for (const Parameter& p : plan.parameters()) {
        const NamedTensor& tensor = find(p, tensors);
        for (std::size_t i = 0; i < p.size(); ++i)
            values[p.position(i)] = tensor.values[i];
    }
}

void initial_parameters(const Plan& plan, Initialization initialization, std::uint64_t seed,
                        std::span<float> values) {
    std::uint64_t index = 0;
    for (const Parameter& p : plan.parameters()) {
        PhiloxStream random(seed, RandomPurpose::initial_weights, 0, index++);
        for (std::size_t i = 0; i < p.size(); ++i)
            values[p.position(i)] = initial_value(p, initialization, random);
    }
}

} // namespace rekindle::mlp::cpu
