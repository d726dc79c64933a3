#pragma once
/// Which GPUs have hung on this boot: poking them again may take the whole machine down.

#include <rekindle/doctor/facts.h>
#include <rekindle/doctor/probe.h>

#include <map>
#include <string>
#include <vector>

namespace rekindle::doctor {

/// The last line of the kernel log that tells of a hang or a reset of this GPU, "" for none. A line that
/// names no address speaks of every GPU of its driver.
std::string line_of_trouble(const KernelLog& log, const Gpu& gpu);

/// Which of a vendor's GPUs a probe may open.
struct GpuAccess {
    struct LeftOut {
        std::string address;
        std::string
            reason; ///< "the kernel log tells of a hang or reset of 0000:03:00.0 (LINE); --probe all …"
    };
    std::vector<LeftOut> left_out;
    std::string refusal;                            ///< why none may be opened; "" when the rest may
    std::map<std::string, std::string> environment; ///< of a child, so that it opens the rest alone
};

/// `vendor` "amd" and "nvidia" can be told by a variable which GPUs to open, as long as the others' UUIDs are
/// known and the user has set no such variable. Of any other ("" means every GPU) it is all or nothing.
GpuAccess access_to(const Facts& facts, ProbeLevel level, const std::string& vendor);

} // namespace rekindle::doctor
