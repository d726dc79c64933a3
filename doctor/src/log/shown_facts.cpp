#include "log/shown_facts.h"

#include "knowledge/gfx_names.h"

#include <algorithm>

namespace rekindle::doctor {

namespace {

Fact<std::string> fact_of(const Situation& situation, std::string_view key) {
    const std::string value(situation.first(key));
    return value.empty() ? Fact<std::string>{} : Fact<std::string>{value, std::string(situation.source(key))};
}

void add_system(System& system, const Situation& situation) {
    if (!system.wsl && situation.has("wsl", "true"))
        system.wsl = {2, std::string(situation.source("wsl"))};
    const bool named = system.os_id || system.os_name || system.wsl.value_or(0) != 0;
    if (!named && situation.has("os", "Windows"))
        system.os_id = {"windows", std::string(situation.source("os"))};
    if (!system.kernel && !system.os_id)
        system.kernel = fact_of(situation, "kernel");
    if (system.container)
        return;
    if (const Situation::Known* known = situation.find("container"))
        for (const std::string& kind : known->values)
            if (kind != "true" && kind != "false")
                system.container = {kind, known->source};
}

Gpu gpu_with(std::string vendor, const Situation::Known& known) {
    Gpu gpu;
    gpu.address = "log:" + known.source;
    gpu.vendor = std::move(vendor);
    return gpu;
}

void add_named_gpus(Facts& facts, const Situation::Known& names, const Knowledge& knowledge) {
    for (const std::string& name : names.values)
        if (const GpuModel* model = knowledge.gpu_named(name)) {
            Gpu gpu = gpu_with(model->vendor, names);
            gpu.name = {model->name, names.source};
            const bool there = std::any_of(facts.gpus.begin(), facts.gpus.end(),
                                           [&](const Gpu& other) { return other.name == gpu.name; });
            if (!there)
                facts.gpus.push_back(std::move(gpu));
        }
}

void add_targets(Facts& facts, const Situation::Known& targets) {
    for (const std::string& target : targets.values) {
        if (target.starts_with("gfx")) {
            facts.gpus.push_back(gpu_with("amd", targets));
            facts.gpus.back().gfx = {target, targets.source};
        } else if (target.starts_with("sm_")) {
            facts.gpus.push_back(gpu_with("nvidia", targets));
            facts.gpus.back().compute_capability = {capability_of(target), targets.source};
        }
    }
}

void add_gpus(Facts& facts, const Situation& situation, const Knowledge& knowledge) {
    if (!facts.gpus.empty())
        return;
    if (const Situation::Known* names = situation.find("gpu"))
        add_named_gpus(facts, *names, knowledge);
    if (const Situation::Known* targets = situation.find("gfx"); targets != nullptr && facts.gpus.empty())
        add_targets(facts, *targets);
    const Situation::Known* vendor = situation.find("vendor_shown");
    if (facts.gpus.empty() && vendor != nullptr && vendor->values.size() == 1)
        facts.gpus.push_back(gpu_with(vendor->values.front(), *vendor));
}

void add_torch(Facts& facts, const Situation& situation) {
    const bool known =
        std::any_of(facts.pythons.begin(), facts.pythons.end(), [](const PythonEnvironment& python) {
            return python.torch.known() || python.torch_kind.known();
        });
    const Fact<std::string> torch = fact_of(situation, "torch");
    const Fact<std::string> kind = fact_of(situation, "torch_kind");
    if (known || (!torch && !kind))
        return;
    PythonEnvironment& python = facts.pythons.emplace_back();
    python.torch = torch;
    python.torch_kind = kind;
    python.version = fact_of(situation, "python");
}

} // namespace

Facts with_shown(Facts facts, const Situation& situation, const Knowledge& knowledge) {
    add_system(facts.system, situation);
    add_gpus(facts, situation, knowledge);
    add_torch(facts, situation);
    if (facts.origin.empty())
        facts.origin = "a posted case";
    return facts;
}

} // namespace rekindle::doctor
