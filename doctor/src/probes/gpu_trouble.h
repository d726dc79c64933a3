#pragma once
/// Which GPUs have hung since boot: using them again may take the whole machine down.

#include <rekindle/doctor/facts.h>
#include <rekindle/doctor/probe.h>

#include <map>
#include <string>
#include <vector>

namespace rekindle::doctor {

/// The last line of the kernel log that reports a hang or a reset of this GPU, "" for none. A line without
/// an address applies to every GPU of its driver.
std::string line_of_trouble(const KernelLog& log, const Gpu& gpu);

/// Which of a vendor's GPUs a probe may open.
struct GpuAccess {
    struct SkippedGpu {
        std::string address;
        std::string reason; ///< "the kernel log shows a hang or reset of 0000:03:00.0 (LINE); --probe all …"
    };
    std::vector<SkippedGpu> skipped_gpus;
    std::string refusal;                            ///< why none may be opened; "" when the rest may
    std::map<std::string, std::string> environment; ///< of a child, so that it opens only the rest
};

/// For `vendor` "amd" and "nvidia" a variable can select which GPUs to open, as long as the UUIDs of the
/// others are known and the user has not set such a variable. For any other ("" means every GPU) it is all
/// or nothing.
GpuAccess access_to(const Facts& facts, ProbeLevel level, const std::string& vendor);

} // namespace rekindle::doctor
