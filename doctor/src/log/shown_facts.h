#pragma once
/// Facts about the host that a log shows: a plan must fit the system and the GPUs in the log.

#include "conditions/situation.h"

#include <rekindle/doctor/facts.h>
#include <rekindle/doctor/knowledge.h>

namespace rekindle::doctor {

/// `facts`, completed where they are silent by what the situation knows about the system, the container,
/// the GPUs and torch.
Facts with_shown(Facts facts, const Situation& situation, const Knowledge& knowledge);

} // namespace rekindle::doctor
