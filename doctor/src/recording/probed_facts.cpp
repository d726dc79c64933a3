#include <rekindle/doctor/recording.h>

#include <charconv>

namespace rekindle::doctor {

namespace {

std::optional<std::uint64_t> number(const ProbeResult& probe, const std::string& name) {
    const auto found = probe.values.find(name);
    std::uint64_t value = 0;
    if (found == probe.values.end())
        return std::nullopt;
    const std::string& text = found->second;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

void add(Gpu& gpu, const ProbeResult& probe) {
    const std::string source = "probe " + probe.id;
    if (const auto found = probe.values.find("compute_capability");
        found != probe.values.end() && !gpu.compute_capability.known())
        gpu.compute_capability = {found->second, source};
    const auto total = number(probe, "memory_total");
    if (total && !gpu.vram_total.known())
        gpu.vram_total = {*total, source};
    const auto free = number(probe, "memory_free");
    if (total && free && *free <= *total && !gpu.vram_used.known())
        gpu.vram_used = {*total - *free, source};
}

} // namespace

void add_probed_facts(Facts& facts, const std::vector<ProbeResult>& probes) {
    for (const ProbeResult& probe : probes)
        if (probe.status == ProbeStatus::passed)
            for (Gpu& gpu : facts.gpus)
                if (gpu.address == probe.device)
                    add(gpu, probe);
}

} // namespace rekindle::doctor
