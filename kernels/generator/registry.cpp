#include "registry.h"

namespace rekindle::kernels::generator {

std::span<const RegistryEntry> registry() noexcept {
#define F(feature) Features(Feature::feature)
#define NONE Features()
#define REKINDLE_FAMILY(family) 1
#define REKINDLE_KERNEL(family, entry, brief, threads, needs, ...) {#family, #entry, brief, threads, needs},
    static constexpr RegistryEntry entries[] = {
#include "../registry.def"
    };
    return entries;
}

} // namespace rekindle::kernels::generator
