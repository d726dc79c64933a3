#include "knowledge/gpu_model.h"

namespace rekindle::doctor {

const GpuModel* model_of(const Gpu& gpu, const Knowledge& knowledge) {
    if (gpu.pci_id)
        if (const GpuModel* model = knowledge.gpu(*gpu.pci_id, gpu.revision.value_or("")))
            return model;
    return gpu.name ? knowledge.gpu_named(*gpu.name) : nullptr;
}

std::string target_of(const Gpu& gpu, const Knowledge& knowledge) {
    if (gpu.gfx)
        return *gpu.gfx;
    if (gpu.compute_capability) {
        std::string target = "sm_" + *gpu.compute_capability;
        std::erase(target, '.');
        return target;
    }
    const GpuModel* model = model_of(gpu, knowledge);
    return model == nullptr ? "" : model->target;
}

} // namespace rekindle::doctor
