#include "registry.h"

#define FLOAT32 1
#define FLOAT64 2
#define INTEGER 4
#define FLOAT16 8
#define BFLOAT16 16
#define F(feature) Features(Feature::feature)
#define NONE Features()
#define REKINDLE_TEXT(text) #text
#define REKINDLE_TEXT_OF(expanded) REKINDLE_TEXT(expanded)
#define REKINDLE_KERNEL(family, entry, brief, threads, needs, ...)                                           \
    {#family REKINDLE_SUFFIX,       #family, REKINDLE_OWN_DTYPE, REKINDLE_TEXT_OF(entry), brief, threads,    \
     (needs) | REKINDLE_DTYPE_NEEDS},

namespace rekindle::kernels::generator {

// The registry is read once for each dtype.
std::span<const RegistryEntry> registry() noexcept {
    static constexpr RegistryEntry entries[] = {
#define REKINDLE_DTYPE FLOAT32
#define REKINDLE_FAMILY(family) 1
#define REKINDLE_FAMILY_FOR(family, dtypes) ((dtypes)&FLOAT32) != 0
#define REKINDLE_SUFFIX ""
#define REKINDLE_OWN_DTYPE "float32"
#define REKINDLE_DTYPE_NEEDS NONE
#define BY_DTYPE(float32, ...) float32
#define IN_DTYPE "in float32"
#define OF_DTYPE "of floats"
#define OF_FLOAT64 ""
#include "../registry/registry.def"
#undef REKINDLE_DTYPE
#undef REKINDLE_FAMILY
#undef REKINDLE_FAMILY_FOR
#undef REKINDLE_SUFFIX
#undef REKINDLE_OWN_DTYPE
#undef REKINDLE_DTYPE_NEEDS
#undef BY_DTYPE
#undef IN_DTYPE
#undef OF_DTYPE
#undef OF_FLOAT64
#define REKINDLE_DTYPE FLOAT64
#define REKINDLE_FAMILY(family) 0
#define REKINDLE_FAMILY_FOR(family, dtypes) ((dtypes)&FLOAT64) != 0
#define REKINDLE_SUFFIX "_float64"
#define REKINDLE_OWN_DTYPE "float64"
#define REKINDLE_DTYPE_NEEDS F(float64)
#define BY_DTYPE(float32, float64, ...) float64
#define IN_DTYPE "in float64"
#define OF_DTYPE "of float64"
#define OF_FLOAT64 " of float64"
#include "../registry/registry.def"
#undef REKINDLE_DTYPE
#undef REKINDLE_FAMILY_FOR
#undef REKINDLE_SUFFIX
#undef REKINDLE_OWN_DTYPE
#undef REKINDLE_DTYPE_NEEDS
#undef BY_DTYPE
#undef IN_DTYPE
#undef OF_DTYPE
#undef OF_FLOAT64
#define REKINDLE_DTYPE INTEGER
#define REKINDLE_FAMILY_FOR(family, dtypes) ((dtypes)&INTEGER) != 0
#define REKINDLE_SUFFIX "_integer"
#define REKINDLE_OWN_DTYPE "int64"
#define REKINDLE_DTYPE_NEEDS NONE
#define BY_DTYPE(float32, float64, integer) integer
#define IN_DTYPE "of integers"
#define OF_DTYPE "of integers"
#define OF_FLOAT64 ""
#include "../registry/registry.def"
#undef REKINDLE_DTYPE
#undef REKINDLE_FAMILY_FOR
#undef REKINDLE_SUFFIX
#undef REKINDLE_OWN_DTYPE
#undef BY_DTYPE
#undef IN_DTYPE
#undef OF_DTYPE
#define REKINDLE_DTYPE FLOAT16
#define REKINDLE_FAMILY_FOR(family, dtypes) ((dtypes)&FLOAT16) != 0
#define REKINDLE_SUFFIX ""
#define REKINDLE_OWN_DTYPE "float16"
#define BY_DTYPE(float16, ...) float16
#define IN_DTYPE "in float16"
#define OF_DTYPE "of float16"
#include "../registry/registry.def"
#undef REKINDLE_DTYPE
#undef REKINDLE_FAMILY_FOR
#undef REKINDLE_SUFFIX
#undef REKINDLE_OWN_DTYPE
#undef REKINDLE_DTYPE_NEEDS
#undef BY_DTYPE
#undef IN_DTYPE
#undef OF_DTYPE
#define REKINDLE_DTYPE BFLOAT16
#define REKINDLE_FAMILY_FOR(family, dtypes) ((dtypes)&BFLOAT16) != 0
#define REKINDLE_SUFFIX "_bfloat16"
#define REKINDLE_OWN_DTYPE "bfloat16"
#define REKINDLE_DTYPE_NEEDS F(bfloat16_units)
#define BY_DTYPE(float16, bfloat16, ...) bfloat16
#define IN_DTYPE "in bfloat16"
#define OF_DTYPE "of bfloat16"
#include "../registry/registry.def"
    };
    return entries;
}

} // namespace rekindle::kernels::generator

#undef FLOAT32
#undef FLOAT64
#undef INTEGER
#undef FLOAT16
#undef BFLOAT16
#undef F
#undef NONE
#undef REKINDLE_TEXT
#undef REKINDLE_TEXT_OF
#undef REKINDLE_KERNEL
