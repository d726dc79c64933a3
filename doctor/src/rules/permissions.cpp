#include "rules/rule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace rekindle::doctor {

namespace {

bool refused(const DeviceNode* node) {
    if (!node || !node->exists)
        return false;
    const std::string& reason = node->usable.unread;
    return node->usable.is(false) || reason.find("Permission denied") != std::string::npos ||
           reason.find("not permitted") != std::string::npos;
}

/// Name of the node's group, from the node or from /etc/group.
std::string group_of(const HostView& view, const DeviceNode& node) {
    if (node.group_name)
        return *node.group_name;
    if (node.group && view.facts.system.known_groups)
        for (const auto& [name, number] : *view.facts.system.known_groups)
            if (number == *node.group)
                return name;
    return node.group ? std::to_string(*node.group) : "render";
}

void add_node(Finding& finding, const HostView& view, const DeviceNode& node) {
    const System& system = view.facts.system;
    add_evidence(finding, fmt::format("opening {}", node.path), node.path,
                 node.usable.unread.empty() ? "refused" : node.usable.unread);
    if (node.group)
        add_evidence(
            finding, "group of the device file", node.path,
            fmt::format("{} ({}), mode {:04o}", *node.group, group_of(view, node), node.mode.value_or(0)));
    if (system.groups)
        add_evidence(finding, "groups of this process", system.groups,
                     fmt::format("{}", fmt::join(*system.groups, " ")));
    if (system.user_name)
        finding.parameters["user"] = *system.user_name;
    finding.parameters["group"] = group_of(view, node);
    if (node.group)
        finding.parameters["gid"] = std::to_string(*node.group);
    for (const Gpu* gpu : view.amd)
        finding.devices.push_back(gpu->address);
}

Finding refused_in_container(const HostView& view, const DeviceNode& node) {
    const bool rootless = view.facts.system.rootless.is(true);
    if (rootless) {
        Finding finding =
            make_finding("rootless-gid-mapping", Severity::problem,
                         fmt::format("This rootless container does not map the host's group {} that owns {}.",
                                     node.group ? std::to_string(*node.group) : "render", node.path));
        add_evidence(finding, "user namespace", view.facts.system.rootless,
                     "groups of the host are not mapped");
        return finding;
    }
    if (node.usable.unread.find("not permitted") != std::string::npos) {
        Finding finding = make_finding(
            "container-missing-devices", Severity::problem,
            fmt::format(
                "{} is in this container, but its device rules forbid opening it (EPERM): the container was "
                "started without --device for it.",
                node.path));
        return finding;
    }
    Finding finding =
        make_finding("kfd-permission", Severity::problem,
                     fmt::format("This container's process is not in group {}, which owns {} on the host; "
                                 "groups are compared by number.",
                                 node.group ? std::to_string(*node.group) : "render", node.path));
    finding.remedies = {"container-add-groups"};
    return finding;
}

Finding refused_on_host(const HostView& view, const DeviceNode& node) {
    const System& system = view.facts.system;
    const std::string group = group_of(view, node);
    const bool in_account = system.account_groups &&
                            std::ranges::find(*system.account_groups, group) != system.account_groups->end();
    const bool in_session =
        system.groups && node.group &&
        std::find(system.groups->begin(), system.groups->end(), *node.group) != system.groups->end();
    if (in_account && !in_session) {
        Finding finding = make_finding(
            "kfd-permission", Severity::problem,
            fmt::format("The account is in group {}, but this session was started before that: the process "
                        "does not have the group that {} requires.",
                        group, node.path));
        add_evidence(finding, "groups of the account", system.account_groups,
                     fmt::format("{}", fmt::join(*system.account_groups, " ")));
        finding.remedies = {"log-in-again"};
        return finding;
    }
    Finding finding = make_finding(
        "kfd-permission", Severity::problem,
        in_session ? fmt::format("{} refuses this process although it is in group {}.", node.path, group)
                   : fmt::format("This process is not in group {}, which owns {}.", group, node.path));
    finding.remedies = {"join-render-group"};
    return finding;
}

} // namespace

Findings kfd_refused(const HostView& view) {
    const DeviceNode* node = device_node(view, "/dev/kfd");
    if (!refused(node) || !amd_matters(view))
        return {};
    Finding finding = in_container(view) || view.facts.system.rootless.is(true)
                          ? refused_in_container(view, *node)
                          : refused_on_host(view, *node);
    add_node(finding, view, *node);
    return {finding};
}

Findings render_node_refused(const HostView& view) {
    if (refused(device_node(view, "/dev/kfd")) || !amd_matters(view))
        return {};
    for (const Gpu* gpu : view.amd) {
        const DeviceNode* node = gpu->render_node ? device_node(view, *gpu->render_node) : nullptr;
        if (!refused(node) || !worth_training_on(view, *gpu))
            continue;
        Finding finding = in_container(view) || view.facts.system.rootless.is(true)
                              ? refused_in_container(view, *node)
                              : refused_on_host(view, *node);
        add_node(finding, view, *node);
        finding.devices = {gpu->address};
        return {finding};
    }
    return {};
}

} // namespace rekindle::doctor
