#pragma once
/// Keys of conditions that follow from other keys.

#include "conditions/situation.h"

#include <rekindle/doctor/knowledge.h>

namespace rekindle::doctor {

/// Adds architecture names to `gfx`, wheel_contains_gfx, override_native and the other computed keys. Call
/// it once.
void derive(Situation& situation, const Knowledge& knowledge);

} // namespace rekindle::doctor
