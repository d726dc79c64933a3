#pragma once
/// Which GPUs have hung on this boot: poking them again may take the whole machine down.

#include <rekindle/doctor/facts.h>

#include <string>

namespace rekindle::doctor {

/// The last line of the kernel log that tells of a hang or a reset of this GPU, "" for none. A line that
/// names no address speaks of every GPU of its driver.
std::string line_of_trouble(const KernelLog& log, const Gpu& gpu);

/// "the kernel log tells of a hang or reset of 0000:03:00.0 (LINE)" for the first such GPU among those of
/// `vendor`
/// ("" for all), "" when there is none.
std::string troubled_gpu(const Facts& facts, const std::string& vendor);

} // namespace rekindle::doctor
