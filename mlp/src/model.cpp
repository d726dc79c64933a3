#include <rekindle/mlp/model.h>

namespace rekindle::mlp {
std::size_t ModelDescription::outputs() const {
    for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer)
        if (layer->kind == Layer::Kind::linear)
            return layer->outputs;
    return inputs;
}
} // namespace rekindle::mlp
