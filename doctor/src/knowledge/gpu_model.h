#pragma once
/// Which model and target a card of the facts is, where the facts do not say it themselves.

#include <rekindle/doctor/facts.h>
#include <rekindle/doctor/knowledge.h>

#include <string>

namespace rekindle::doctor {

/// By PCI id and revision, else by the name that a driver or a person gave; nullptr when neither is known.
const GpuModel* model_of(const Gpu& gpu, const Knowledge& knowledge);

/// "gfx1010" or "sm_86": as read (KFD's gfx, the driver's compute capability), else the model's; "" when not
/// known.
std::string target_of(const Gpu& gpu, const Knowledge& knowledge);

} // namespace rekindle::doctor
