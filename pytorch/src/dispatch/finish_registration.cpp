#include "fallback.h"

namespace rvk {

namespace {
/// This file is linked last (CMakeLists.txt), so that its statics are made after all registrations of
/// operators.
const int direct_fallbacks = register_direct_fallbacks();
} // namespace

} // namespace rvk
