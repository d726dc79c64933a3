#pragma once
/// AMD's HIP and the libraries that belong to it. The few functions that are used are declared here from
/// the public documentation, so that building needs nothing from ROCm; layouts that differ between ROCm 5,
/// 6 and 7 are not relied on.

#include "probes/driver_library.h"

#include <string>
#include <vector>

namespace rekindle::doctor {

/// libamdhip64 from the request's folders or the linker; its file() is false when there is none.
DriverLibrary open_hip(const ProbeRequest& request, const ProbeReport& report);

/// A library of `names` next to HIP, then in the request's folders, then from the linker.
SharedLibrary open_next_to(const SharedLibrary& hip, const ProbeRequest& request,
                           const std::vector<std::string>& names);

/// A result for the request's device, with the location of HIP. `hip` must be open.
ProbeResult result_of_device(const ProbeRequest& request, const ProbeReport& report,
                             const DriverLibrary& hip);

/// Says why there is no library: a broken one is a failure, a missing one a skip.
void report_absence(const ProbeReport& report, ProbeResult result, const SharedLibrary& library);

} // namespace rekindle::doctor
