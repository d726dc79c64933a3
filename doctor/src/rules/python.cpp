#include "facts/versions.h"
#include "rules/rule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rekindle::doctor {

Findings space_in_path(const HostView& view) {
    if (torch_kind(view) != "rocm" || view.python->path.find(' ') == std::string::npos)
        return {};
    const std::string rocm = torch_rocm(view);
    if (rocm.empty() || !same_release(rocm, "6"))
        return {};
    Finding finding = make_finding(
        "space-in-path", Severity::problem,
        fmt::format("The environment's path has a space in it, and ROCm {} then fails to load its GPU code.",
                    rocm));
    add_evidence(finding, "path of the environment", view.python->found_by, view.python->path);
    add_evidence(finding, "torch", view.python->torch, view.python->torch.value_or(""));
    return {finding};
}

Findings two_private_backends(const HostView& view) {
    if (!view.python || view.python->private_backends.size() < 2)
        return {};
    Finding finding = make_finding(
        "two-private-backends", Severity::problem,
        fmt::format(
            "{} all register as torch's one extra device (PrivateUse1); only one of them can be loaded.",
            fmt::join(view.python->private_backends, " and ")));
    for (const std::string& name : view.python->private_backends)
        add_evidence(finding, "package that registers a device", view.python->path, name);
    finding.parameters["package"] = view.python->private_backends.back();
    return {finding};
}

Findings numpy_of_another_abi(const HostView& view) {
    const auto numpy = package_version(view, "numpy");
    if (!numpy || !view.python->torch || compare_versions(*numpy, "2") < 0)
        return {};
    const std::string release = torch_version(*view.python->torch).release;
    if (compare_versions(release, "2.3") >= 0)
        return {};
    Finding finding = make_finding(
        "numpy-abi-mismatch", Severity::problem,
        fmt::format(
            "torch {} was built against NumPy 1, but NumPy {} is installed: tensors cannot be created "
            "from arrays.",
            *view.python->torch, *numpy));
    add_evidence(finding, "torch", view.python->torch, *view.python->torch);
    add_evidence(finding, "numpy", view.python->path, *numpy);
    return {finding};
}

Findings damaged_environment(const HostView& view) {
    if (!view.python || !view.python->problems || view.python->problems->empty())
        return {};
    bool runtime = false;
    for (const std::string& problem : *view.python->problems)
        runtime = runtime || problem.find("libstdc++") != std::string::npos;
    Finding finding = make_finding(
        runtime ? "wrong-libstdcxx-picked" : "python-environment-damaged", Severity::problem,
        runtime ? "The environment's own C++ runtime cannot be found, so the system's older one is loaded "
                  "instead."
                : fmt::format("The environment is damaged: {}.", view.python->problems->front()));
    for (const std::string& problem : *view.python->problems)
        add_evidence(finding, "environment", view.python->path, problem);
    return {finding};
}

Findings system_rocm_in_library_path(const HostView& view) {
    const auto path = variable(view, "LD_LIBRARY_PATH");
    if (torch_kind(view) != "rocm" || !brings_its_rocm(view) || !path ||
        path->find("/opt/rocm") == std::string::npos)
        return {};
    Finding finding =
        make_finding("mixed-rocm-libraries", Severity::warning,
                     "LD_LIBRARY_PATH puts the ROCm in /opt/rocm before the one that comes with the wheel: "
                     "libraries of two releases "
                     "are loaded into one process.");
    add_evidence(finding, "LD_LIBRARY_PATH", view.facts.environment.source, *path);
    add_evidence(finding, "torch", view.python->torch, view.python->torch.value_or(""));
    finding.remedies = {"unset-ld-library-path"};
    return {finding};
}

} // namespace rekindle::doctor
