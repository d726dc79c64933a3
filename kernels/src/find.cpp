#include <rekindle/kernels/kernel.h>

namespace rekindle::kernels {

const Kernel* find(std::string_view name) noexcept {
    for (const Kernel& kernel : all())
        if (kernel.name == name)
            return &kernel;
    return nullptr;
}

} // namespace rekindle::kernels
