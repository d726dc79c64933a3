#include "facts/versions.h"
#include "rules/rule.h"

#include <fmt/format.h>

#include <set>

namespace rekindle::doctor {

namespace {

enum class OverrideJudgment { unneeded, safe, risky, unsafe };

/// What the table says about this value on this GPU; if it says nothing, a target of another architecture
/// is unsafe and a sibling's is risky.
OverrideJudgment judge(const HostView& view, const Gpu& gpu, const Override& set, std::string& reason) {
    const std::string native = gfx_of(view, gpu);
    if (set.gfx == native)
        return OverrideJudgment::unneeded;
    const GfxTarget* target = view.knowledge.gfx(native);
    if (target) {
        for (const GfxTarget::Override& known : target->overrides) {
            if (known.value != set.value)
                continue;
            reason = known.reason;
            return known.verdict == "safe"     ? OverrideJudgment::safe
                   : known.verdict == "risky"  ? OverrideJudgment::risky
                   : known.verdict == "unsafe" ? OverrideJudgment::unsafe
                                               : OverrideJudgment::unneeded;
        }
    }
    const GfxTarget* pretended = view.knowledge.gfx(set.gfx);
    const bool siblings = target && pretended && target->architecture == pretended->architecture;
    return siblings ? OverrideJudgment::risky : OverrideJudgment::unsafe;
}

bool is_rdna1_as_rdna2(const HostView& view, const Gpu& gpu, const Override& set) {
    const GfxTarget* pretended = view.knowledge.gfx(set.gfx);
    return architecture_of(view, gpu) == "RDNA1" && pretended && pretended->architecture == "RDNA2";
}

/// ROCm whose code would run under the override; "" when unknown.
std::string rocm_in_use(const HostView& view) {
    std::string rocm = torch_rocm(view);
    if (!rocm.empty() || view.facts.rocm.installations.empty())
        return rocm;
    return view.facts.rocm.installations.front().version.value_or("");
}

void describe(Finding& finding, const HostView& view, const Gpu& gpu, const Override& set,
              const std::string& reason) {
    add_evidence(finding, set.variable, view.facts.environment.source, set.value);
    add_evidence(finding, fmt::format("target of the {}", name_of(view, gpu)), gpu.gfx, gfx_of(view, gpu));
    const std::string rocm = rocm_in_use(view);
    if (!rocm.empty())
        add_evidence(finding, "ROCm in use", view.python ? view.python->torch.source : "", rocm);
    if (!reason.empty())
        add_evidence(finding, "this override on this target", "knowledge/gfx_targets.yaml", reason);
    finding.devices.push_back(gpu.address);
    finding.parameters["gfx"] = gfx_of(view, gpu);
    finding.parameters["override_variable"] = set.variable;
    finding.parameters["override_value"] = set.value;
}

Finding rdna1_as_rdna2(const HostView& view, const Gpu& gpu, const Override& set) {
    const std::string rocm = rocm_in_use(view);
    const bool before_the_break = !rocm.empty() && compare_versions(rocm, "5.3") < 0;
    Finding finding = make_finding(
        "gfx1010-as-gfx1030-broken-since-rocm5.3", before_the_break ? Severity::warning : Severity::problem,
        before_the_break
            ? fmt::format(
                  "{}={} runs RDNA2 code on the {} ({}). With ROCm {} this worked for some users, but "
                  "wrong results remain possible.",
                  set.variable, set.value, name_of(view, gpu), gfx_of(view, gpu), rocm)
            : fmt::format(
                  "{}={} runs RDNA2 code on the {}, which is RDNA1 ({}) and lacks some of its instructions.",
                  set.variable, set.value, name_of(view, gpu), gfx_of(view, gpu)));
    finding.remedies = {"unset-override", "use-native-wheel", "use-vulkan-route", "use-cpu"};
    return finding;
}

/// A sibling's target: tolerated by ROCm 5, refused by newer releases if registers or instructions differ.
Finding sibling_override(const HostView& view, const Gpu& gpu, const Override& set, bool native_code) {
    const std::string rocm = rocm_in_use(view);
    const bool tolerated = !rocm.empty() && compare_versions(rocm, "6") < 0;
    Finding finding = make_finding(
        "override-breaks-on-this-rocm", tolerated ? Severity::warning : Severity::problem,
        fmt::format(
            "{}={} presents the {} ({}) as {}, whose code may need features that this chip does not have{}.",
            set.variable, set.value, name_of(view, gpu), gfx_of(view, gpu), set.gfx,
            native_code ? "; the wheel has code for its own target" : ""));
    if (native_code)
        finding.remedies = {"unset-override"};
    return finding;
}

Finding foreign_override(const HostView& view, const Gpu& gpu, const Override& set) {
    Finding finding = make_finding(
        "stale-hsa-override", Severity::problem,
        set.gfx.empty()
            ? fmt::format("{}={} names a target that does not exist; the {} cannot be used with it.",
                          set.variable, set.value, name_of(view, gpu))
            : fmt::format("{}={} makes the runtime treat the {} ({}) as {}, a different kind of GPU.",
                          set.variable, set.value, name_of(view, gpu), gfx_of(view, gpu), set.gfx));
    finding.remedies = {"unset-override"};
    return finding;
}

/// One finding for each GPU and setting; GPUs of the same model share theirs.
template <class Make>
Findings for_each_override(const HostView& view, Make&& make) {
    Findings findings;
    std::set<std::string> seen;
    const WheelTargets targets = torch_targets(view);
    for (const Gpu* gpu : training_amd(view)) {
        const auto set = override_of(view, *gpu);
        const std::string native = gfx_of(view, *gpu);
        if (!set || native.empty() || !seen.insert(set->variable + native).second)
            continue;
        std::string reason;
        const OverrideJudgment judgment = judge(view, *gpu, *set, reason);
        const bool native_code = targets.known && view.knowledge.covers(targets.names, native);
        if (auto finding = make(*gpu, *set, judgment, native_code)) {
            describe(*finding, view, *gpu, *set, reason);
            findings.push_back(std::move(*finding));
        }
    }
    return findings;
}

} // namespace

Findings override_of_another_target(const HostView& view) {
    return for_each_override(view,
                             [&](const Gpu& gpu, const Override& set, OverrideJudgment judgment,
                                 bool native_code) -> std::optional<Finding> {
                                 if (judgment == OverrideJudgment::unneeded ||
                                     judgment == OverrideJudgment::safe)
                                     return std::nullopt;
                                 if (is_rdna1_as_rdna2(view, gpu, set))
                                     return rdna1_as_rdna2(view, gpu, set);
                                 if (judgment == OverrideJudgment::risky)
                                     return sibling_override(view, gpu, set, native_code);
                                 return foreign_override(view, gpu, set);
                             });
}

Findings override_without_need(const HostView& view) {
    return for_each_override(
        view,
        [&](const Gpu& gpu, const Override& set, OverrideJudgment judgment,
            bool native_code) -> std::optional<Finding> {
            const bool same = set.gfx == gfx_of(view, gpu);
            if (!same && !(native_code &&
                           (judgment == OverrideJudgment::safe || judgment == OverrideJudgment::unneeded)))
                return std::nullopt;
            Finding finding = make_finding(
                "override-unneeded", Severity::warning,
                same ? fmt::format("{}={} names the {}'s own target and is not needed; it only hides the "
                                   "real target from programs.",
                                   set.variable, set.value, name_of(view, gpu))
                     : fmt::format("{}={} keeps torch from using its code for {}, the {}'s own target.",
                                   set.variable, set.value, gfx_of(view, gpu), name_of(view, gpu)));
            finding.remedies = {"unset-override"};
            return finding;
        });
}

} // namespace rekindle::doctor
