#pragma once
/// AMD's HIP and the libraries beside it. Their few functions are declared here from the public
/// documentation, so that nothing of ROCm is needed to build; layouts that differ between ROCm 5, 6 and 7 are
/// not relied on.

#include "probes/driver_library.h"

#include <string>
#include <vector>

namespace rekindle::doctor {

/// libamdhip64 from the request's folders or the linker; its file() is false when there is none.
DriverLibrary open_hip(const ProbeRequest& request, const ProbeReport& report);

/// A library of `names` beside HIP, then in the request's folders, then by the linker.
SharedLibrary open_beside(const SharedLibrary& hip, const ProbeRequest& request,
                          const std::vector<std::string>& names);

/// A result for the request's device, with where HIP was found. `hip` must be open.
ProbeResult result_of_device(const ProbeRequest& request, const ProbeReport& report,
                             const DriverLibrary& hip);

/// Says why there is no library: broken ones fail, absent ones are skipped.
void report_absence(const ProbeReport& report, ProbeResult result, const SharedLibrary& library);

} // namespace rekindle::doctor
