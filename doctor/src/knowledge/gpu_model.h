#pragma once
/// Model and target of a GPU in the facts, where the facts do not contain them.

#include <rekindle/doctor/facts.h>
#include <rekindle/doctor/knowledge.h>

#include <string>

namespace rekindle::doctor {

/// By PCI id and revision, else by the name that a driver or a person gave; nullptr when neither is known.
const GpuModel* model_of(const Gpu& gpu, const Knowledge& knowledge);

/// "gfx1010" or "sm_86": as read (KFD's gfx, the driver's compute capability), else the model's; "" when
/// unknown.
std::string target_of(const Gpu& gpu, const Knowledge& knowledge);

} // namespace rekindle::doctor
