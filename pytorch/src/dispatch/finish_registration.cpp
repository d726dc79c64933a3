#include "fallback.h"

namespace rvk {

namespace {
/// This file is linked last (CMakeLists.txt), so that its static objects are created after all operators have
/// been registered.
const int direct_fallbacks = register_direct_fallbacks() + register_layout_fallbacks();
} // namespace

} // namespace rvk
