#include "probes/gpu_trouble.h"
#include "probes/probe_session.h"

#include <fmt/format.h>

namespace rekindle::doctor {

namespace {

/// Why nothing may open the GPUs of a vendor ("" for any) at this level, "" when it may.
std::string reason_to_leave_alone(const ProbeSession& session, const std::string& vendor) {
    if (session.options().level == ProbeLevel::all)
        return {};
    const std::string trouble = troubled_gpu(session.facts(), vendor);
    return trouble.empty() ? trouble : trouble + "; --probe all tries it all the same";
}

void plan_vulkan(ProbeSession& session, std::vector<ProbeTask>& tasks) {
    if (const std::string reason = reason_to_leave_alone(session, ""); !reason.empty())
        return session.skip("vulkan-devices", "", reason);
    ProbeTask task{.id = "vulkan-devices"};
    if (const Fact<std::string>& loader = session.facts().vulkan.loader; loader.known())
        task.parameters.push_back("loader=" + *loader);
    tasks.push_back(std::move(task));
}

} // namespace

std::vector<ProbeResult> run_probes(const Facts& facts, const ProbeOptions& options) {
    if (options.level == ProbeLevel::none)
        return {};
    ProbeSession session(facts, options);
    std::vector<ProbeTask> first;
    plan_vulkan(session, first);
    session.run(first);
    return session.take_results();
}

} // namespace rekindle::doctor
