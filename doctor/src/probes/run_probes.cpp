#include "probes/gpu_trouble.h"
#include "probes/library_folders.h"
#include "probes/probe_session.h"
#include "probes/python_probes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace rekindle::doctor {

namespace {

/// "gpus=0": it is then not a failure if the library reports no device.
std::string expected_gpus(const Facts& facts, const std::string& vendor) {
    const auto count = std::ranges::count(facts.gpus, vendor, &Gpu::vendor);
    const bool may_hide = facts.kfd.is(true) && vendor == "amd"; // KFD exists but we could not read its GPUs
    const bool wsl = facts.system.wsl.value_or(0) > 0;           // GPUs are not on the PCI bus there
    return fmt::format("gpus={}", may_hide || wsl ? std::max<std::ptrdiff_t>(count, 1) : count);
}

/// "1" of "hip:1".
std::string number_of(const ProbeResult& device) {
    const auto ordinal = device.values.find("ordinal");
    return ordinal == device.values.end() ? "0" : ordinal->second.substr(ordinal->second.find(':') + 1);
}

/// The common data of the probes of one vendor's library.
struct Family {
    GpuAccess access;
    std::vector<std::string> parameters;

    ProbeTask task(std::string id) const {
        return {.id = std::move(id), .parameters = parameters, .environment = access.environment};
    }
    /// The same probe on every device that the library found.
    std::vector<ProbeTask> on_each(const std::string& id, const std::vector<ProbeResult>& devices) const {
        std::vector<ProbeTask> tasks;
        for (const ProbeResult& device : devices) {
            ProbeTask one = task(id);
            one.device = device.device;
            one.parameters.push_back("device=" + number_of(device));
            one.parameters.push_back("address=" + device.device);
            tasks.push_back(std::move(one));
        }
        return tasks;
    }
};

Family hip_family(const Facts& facts, const ProbeOptions& options) {
    Family hip{access_to(facts, options.level, "amd"), {expected_gpus(facts, "amd")}};
    for (const std::string& folder : hip_folders(facts, options))
        hip.parameters.push_back("folder=" + folder);
    return hip;
}

Family cuda_family(const Facts& facts, const ProbeOptions& options) {
    return {access_to(facts, options.level, "nvidia"), {expected_gpus(facts, "nvidia")}};
}

Family vulkan_family(const Facts& facts, const ProbeOptions& options) {
    Family vulkan{access_to(facts, options.level, ""), {}};
    if (facts.vulkan.loader.known())
        vulkan.parameters.push_back("loader=" + *facts.vulkan.loader);
    return vulkan;
}

/// The known-answer self-test on every device; its child finds the device again by name.
std::vector<ProbeTask> self_test_tasks(const Family& vulkan, const std::vector<ProbeResult>& devices) {
    std::vector<ProbeTask> tasks = vulkan.on_each("vulkan-self-test", devices);
    std::map<std::string, int> seen;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        const auto name = devices[i].values.find("name");
        if (name == devices[i].values.end())
            continue;
        tasks[i].parameters.push_back("name=" + name->second);
        tasks[i].parameters.push_back(fmt::format("same_name={}", seen[name->second]++));
        tasks[i].patience = 4; // some twenty kernels are compiled, by LLVM for a CPU driver
    }
    return tasks;
}

/// Adds the probe that opens the library, or says why it is not run and which GPUs it skips.
void add_first_probe(ProbeSession& session, const Family& family, const std::string& id,
                     std::vector<ProbeTask>& tasks) {
    if (!family.access.refusal.empty())
        return session.skip(id, "", family.access.refusal);
    for (const GpuAccess::SkippedGpu& gpu : family.access.skipped_gpus)
        session.skip(id, gpu.address, gpu.reason);
    tasks.push_back(family.task(id));
}

/// Devices that the first probe of a library found and that may be used.
std::vector<ProbeResult> usable_devices(const ProbeSession& session, const std::string& id) {
    std::vector<ProbeResult> devices = session.devices_of(id);
    std::erase_if(devices, [](const ProbeResult& device) { return device.status != ProbeStatus::passed; });
    return devices;
}

/// Both at the same time on different GPUs, one after the other on the same GPU.
void run_on_devices(ProbeSession& session, const Family& family, const std::string& id,
                    const std::vector<ProbeResult>& devices, const std::string& library) {
    if (devices.empty())
        session.skip(id, "", fmt::format("{} found no device to try it on", library));
    else
        session.run(family.on_each(id, devices));
}

void run_rccl(ProbeSession& session, const Family& hip, std::size_t devices) {
    if (devices == 0)
        return session.skip("rccl", "", "hip-init found no device to try it on");
    session.run({hip.task("rccl")});
    constexpr const char* collective = "rccl-two-gpus";
    if (devices < 2)
        return session.skip(collective, "", "it needs two GPUs, and HIP has one here");
    if (session.options().level != ProbeLevel::all)
        return session.skip(collective, "", "only --probe all tries two GPUs together, because it may hang");
    ProbeTask task = hip.task(collective);
    task.parameters.push_back(fmt::format("devices={}", devices));
    task.patience = 4; // connecting the GPUs takes a while
    session.run({task});
}

/// The vector addition on every GPU in the facts, in parallel with the driver's own probe: creating a
/// context takes most of a second. Empty when the driver must first report which GPUs this process can use.
std::vector<ProbeTask> early_cuda_tasks(const Facts& facts, const Family& cuda) {
    const auto variables = facts.environment.variables.value_or({});
    if (!cuda.access.refusal.empty() || !cuda.access.skipped_gpus.empty() ||
        variables.contains("CUDA_VISIBLE_DEVICES"))
        return {};
    std::vector<ProbeTask> tasks;
    for (const Gpu& gpu : facts.gpus) {
        if (gpu.vendor != "nvidia" || !gpu.kernel_driver.is("nvidia"))
            continue;
        ProbeTask one = cuda.task("cuda-vector-add");
        one.device = gpu.address;
        one.parameters.push_back("address=" + gpu.address);
        tasks.push_back(std::move(one));
    }
    return tasks;
}

} // namespace

std::vector<ProbeResult> run_probes(const Facts& facts, const ProbeOptions& options) {
    if (options.level == ProbeLevel::none)
        return {};
    ProbeSession session(facts, options);
    const Family hip = hip_family(facts, options);
    const Family cuda = cuda_family(facts, options);
    std::vector<ProbeTask> first;
    add_first_probe(session, hip, "hip-init", first);
    add_first_probe(session, cuda, "cuda-driver", first);
    const Family vulkan = vulkan_family(facts, options);
    add_first_probe(session, vulkan, "vulkan-devices", first);
    const std::vector<ProbeTask> early = early_cuda_tasks(facts, cuda);
    first.insert(first.end(), early.begin(), early.end());
    session.run(first);

    const std::vector<ProbeResult> hip_devices = usable_devices(session, "hip-init");
    run_on_devices(session, hip, "blas-handle", hip_devices, "hip-init");
    run_on_devices(session, hip, "hiprtc-vector-add", hip_devices, "hip-init");
    run_rccl(session, hip, hip_devices.size());
    if (early.empty())
        run_on_devices(session, cuda, "cuda-vector-add", usable_devices(session, "cuda-driver"),
                       "cuda-driver");
    const std::vector<ProbeResult> vulkan_devices = usable_devices(session, "vulkan-devices");
    if (vulkan_devices.empty())
        session.skip("vulkan-self-test", "", "vulkan-devices found no device to try it on");
    else
        session.run(self_test_tasks(vulkan, vulkan_devices));
    if (!options.python.empty())
        run_python_probes(session);
    return session.take_results();
}

} // namespace rekindle::doctor
