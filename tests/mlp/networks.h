#pragma once
/// Networks and data for the tests.

#include "hashed.h"

#include <rekindle/mlp/engine.h>

#include <numeric>
#include <string>
#include <vector>

namespace rekindle::mlp::test {

/// Rows of reproducible inputs in [-1.7, 1.7) and targets in [-1, 1), the same as in tests/mlp/reference.py.
struct Table {
    Table(std::size_t inputs, std::size_t rows, bool labels = false)
        : width(inputs), x(hashed(inputs * rows, 1)), y(hashed(rows, 2)), order(rows) {
        for (float& value : x)
            value *= 1.7f;
        if (labels)
            for (float& value : y)
                value = value > 0 ? 1.0f : 0.0f;
        std::iota(order.begin(), order.end(), 0u);
    }
    Samples samples() const { return {x.data(), width, y.data(), y.size()}; }

    std::size_t width;
    std::vector<float> x, y;
    std::vector<std::uint32_t> order;
};

inline std::vector<float> flat(const std::vector<NamedTensor>& tensors) {
    std::vector<float> values;
    for (const NamedTensor& tensor : tensors)
        values.insert(values.end(), tensor.values.begin(), tensor.values.end());
    return values;
}

inline TrainingSpec spec_of(LossSpec::Kind loss) {
    TrainingSpec spec;
    spec.loss.kind = loss;
    return spec;
}

} // namespace rekindle::mlp::test
