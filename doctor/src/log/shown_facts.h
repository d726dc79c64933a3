#pragma once
/// What a log shows of the host, as facts: a plan must fit the system and the GPUs of the log.

#include "log/situation.h"

#include <rekindle/doctor/facts.h>
#include <rekindle/doctor/knowledge.h>

namespace rekindle::doctor {

/// `facts`, and where they are silent what the situation knows of the system, the container, the GPUs and
/// torch.
Facts with_shown(Facts facts, const Situation& situation, const Knowledge& knowledge);

} // namespace rekindle::doctor
