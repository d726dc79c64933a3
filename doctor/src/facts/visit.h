#pragma once
/// The fields of every structure of facts, listed once: both writing and reading use these lists.

#include <rekindle/doctor/facts.h>

namespace rekindle::doctor {

// clang-format off
#define REKINDLE_FIELDS(Type, ...)                                                                                    \
    template <class Self, class Visitor>                                                                              \
        requires std::same_as<std::remove_const_t<Self>, Type>                                                        \
    void visit_fields(Self& self, Visitor&& visit) __VA_ARGS__
// clang-format on

REKINDLE_FIELDS(PciLink, {
    visit("speed", self.speed);
    visit("width", self.width);
    visit("max_speed", self.max_speed);
    visit("max_width", self.max_width);
})

REKINDLE_FIELDS(PciBridge, {
    visit("address", self.address);
    visit("link", self.link);
    visit("routes_atomics", self.routes_atomics);
    visit("acs_redirects", self.acs_redirects);
})

REKINDLE_FIELDS(MemoryHolder, {
    visit("pid", self.pid);
    visit("command", self.command);
    visit("vram", self.vram);
    visit("gtt", self.gtt);
    visit("source", self.source);
    visit("own", self.own);
})

REKINDLE_FIELDS(Gpu, {
    visit("address", self.address);
    visit("vendor", self.vendor);
    visit("pci_id", self.pci_id);
    visit("revision", self.revision);
    visit("subsystem", self.subsystem);
    visit("name", self.name);
    visit("gfx", self.gfx);
    visit("runtime_gfx", self.runtime_gfx);
    visit("compute_capability", self.compute_capability);
    visit("kernel_driver", self.kernel_driver);
    visit("card_node", self.card_node);
    visit("render_node", self.render_node);
    visit("kfd_node", self.kfd_node);
    visit("uuid", self.uuid);
    visit("integrated", self.integrated);
    visit("boot_display", self.boot_display);
    visit("vram_total", self.vram_total);
    visit("vram_used", self.vram_used);
    visit("visible_vram_total", self.visible_vram_total);
    visit("gtt_total", self.gtt_total);
    visit("gtt_used", self.gtt_used);
    visit("compute_units", self.compute_units);
    visit("wavefront_size", self.wavefront_size);
    visit("mec_firmware", self.mec_firmware);
    visit("mes_firmware", self.mes_firmware);
    visit("atomics", self.atomics);
    visit("peer_to_peer", self.peer_to_peer);
    visit("link", self.link);
    visit("bridges", self.bridges);
    visit("iommu_type", self.iommu_type);
    visit("busy_percent", self.busy_percent);
    visit("temperature", self.temperature);
    visit("holders", self.holders);
})

REKINDLE_FIELDS(DeviceNode, {
    visit("path", self.path);
    visit("exists", self.exists);
    visit("mode", self.mode);
    visit("owner", self.owner);
    visit("group", self.group);
    visit("group_name", self.group_name);
    visit("usable", self.usable);
})

REKINDLE_FIELDS(System, {
    visit("os_id", self.os_id);
    visit("os_version", self.os_version);
    visit("os_name", self.os_name);
    visit("kernel", self.kernel);
    visit("architecture", self.architecture);
    visit("glibc", self.glibc);
    visit("processor", self.processor);
    visit("hypervisor", self.hypervisor);
    visit("wsl", self.wsl);
    visit("container", self.container);
    visit("rootless", self.rootless);
    visit("memory_total", self.memory_total);
    visit("memory_available", self.memory_available);
    visit("swap_total", self.swap_total);
    visit("shared_memory_total", self.shared_memory_total);
    visit("shared_memory_free", self.shared_memory_free);
    visit("open_files_limit", self.open_files_limit);
    visit("open_files_hard_limit", self.open_files_hard_limit);
    visit("locked_memory_limit", self.locked_memory_limit);
    visit("kernel_command_line", self.kernel_command_line);
    visit("host_name", self.host_name);
    visit("user_id", self.user_id);
    visit("user_name", self.user_name);
    visit("groups", self.groups);
    visit("group_names", self.group_names);
    visit("account_groups", self.account_groups);
    visit("known_groups", self.known_groups);
    visit("iommu_enabled", self.iommu_enabled);
    visit("hidden_processes", self.hidden_processes);
    visit("device_nodes", self.device_nodes);
})

REKINDLE_FIELDS(KernelModule, {
    visit("name", self.name);
    visit("loaded", self.loaded);
    visit("version", self.version);
    visit("parameters", self.parameters);
    visit("dkms", self.dkms);
})

REKINDLE_FIELDS(Drivers, {
    visit("modules", self.modules);
    visit("modprobe_options", self.modprobe_options);
    visit("firmware_package", self.firmware_package);
    visit("firmware_files", self.firmware_files);
    visit("nvidia_module", self.nvidia_module);
    visit("nvidia_library", self.nvidia_library);
    visit("nvidia_cuda", self.nvidia_cuda);
})

REKINDLE_FIELDS(KernelLog, { visit("lines", self.lines); })

REKINDLE_FIELDS(RocmInstallation, {
    visit("path", self.path);
    visit("version", self.version);
    visit("miopen_headers", self.miopen_headers);
})

REKINDLE_FIELDS(RocmUserSpace, {
    visit("installations", self.installations);
    visit("linker_paths", self.linker_paths);
    visit("tools", self.tools);
    visit("package_sources", self.package_sources);
})

REKINDLE_FIELDS(LibraryTargets, {
    visit("path", self.path);
    visit("part", self.part);
    visit("targets", self.targets);
    visit("bytes", self.bytes);
    visit("unread", self.unread);
})

REKINDLE_FIELDS(PythonPackage, {
    visit("name", self.name);
    visit("version", self.version);
    visit("installer", self.installer);
    visit("source", self.source);
    visit("origin", self.origin);
})

REKINDLE_FIELDS(PythonEnvironment, {
    visit("path", self.path);
    visit("interpreter", self.interpreter);
    visit("kind", self.kind);
    visit("found_by", self.found_by);
    visit("active", self.active);
    visit("version", self.version);
    visit("torch", self.torch);
    visit("torch_kind", self.torch_kind);
    visit("torch_hip", self.torch_hip);
    visit("torch_cuda", self.torch_cuda);
    visit("rocm_style", self.rocm_style);
    visit("packages", self.packages);
    visit("libraries", self.libraries);
    visit("private_backends", self.private_backends);
    visit("problems", self.problems);
})

REKINDLE_FIELDS(VulkanDriver, {
    visit("manifest", self.manifest);
    visit("library", self.library);
    visit("api_version", self.api_version);
    visit("library_exists", self.library_exists);
    visit("missing_libraries", self.missing_libraries);
})

REKINDLE_FIELDS(Vulkan, {
    visit("loader", self.loader);
    visit("drivers", self.drivers);
    visit("layers", self.layers);
})

REKINDLE_FIELDS(ProcessEnvironment, {
    visit("source", self.source);
    visit("variables", self.variables);
})

REKINDLE_FIELDS(Facts, {
    visit("schema", self.schema);
    visit("program", self.program);
    visit("read_at", self.read_at);
    visit("origin", self.origin);
    visit("system", self.system);
    visit("gpus", self.gpus);
    visit("kfd", self.kfd);
    visit("drivers", self.drivers);
    visit("kernel_log", self.kernel_log);
    visit("rocm", self.rocm);
    visit("pythons", self.pythons);
    visit("vulkan", self.vulkan);
    visit("environment", self.environment);
    visit("notes", self.notes);
})

#undef REKINDLE_FIELDS

} // namespace rekindle::doctor
