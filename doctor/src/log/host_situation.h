#pragma once
/// The facts of a host, in the vocabulary of conditions.

#include "conditions/situation.h"

#include <rekindle/doctor/facts.h>
#include <rekindle/doctor/knowledge.h>

#include <string>

namespace rekindle::doctor {

/// "linux", "wsl" or "windows"; "" when unknown.
std::string system_of(const System& system);

/// The facts as keys, with the keys that follow from them.
Situation situation_of(const Facts& facts, const Knowledge& knowledge);

/// The same without those keys, for callers that add what a log shows before they call derive(). A name in
/// the table of GPUs stands for its gfx target where no target was read.
Situation stated_by(const Facts& facts, const Knowledge& knowledge);

} // namespace rekindle::doctor
