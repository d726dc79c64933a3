#include "belongings.h"

#include <map>

namespace rekindle::doctor::fixtures {

namespace {

bool is_debian(const MatrixHost& host) {
    return host.package_manager == "apt" && host.system != "windows";
}
bool on_windows(const MatrixHost& host) {
    return host.system == "windows";
}
bool is_native(const MatrixHost& host) {
    return host.system == "linux" || host.system.empty();
}
bool in_container(const MatrixHost& host) {
    return !host.container.empty() && host.container != "none";
}

bool is_wsl(const MatrixHost& host) {
    return host.system == "wsl";
}
bool may_be_in_container(const MatrixHost& host) {
    return host.container != "none";
}

} // namespace

const std::vector<Belonging>& belongings() {
    static const std::vector<Belonging> all{
        {"apt", R"(\bapt(-get)?\b|\bdpkg\b)", is_debian},
        {"ubuntu-drivers", R"(ubuntu-drivers)",
         [](const MatrixHost& host) { return host.ubuntu && host.system == "linux" && !in_container(host); }},
        {"dnf", R"(\bdnf\b)", [](const MatrixHost& host) { return host.package_manager == "dnf"; }},
        {"pacman", R"(\bpacman\b)", [](const MatrixHost& host) { return host.package_manager == "pacman"; }},
        {"zypper", R"(\bzypper\b)", [](const MatrixHost& host) { return host.package_manager == "zypper"; }},
        {"grub of Debian", R"(update-grub)",
         [](const MatrixHost& host) { return is_debian(host) && is_native(host) && !in_container(host); }},
        {"the packages of a kernel or a driver",
         R"(linux-(image|generic|firmware)|firmware-amd|amd-gpu-firmware|nvidia-driver|akmod|install kernel)",
         [](const MatrixHost& host) { return is_native(host) && !in_container(host); }},
        {"the kernel of native Linux",
         R"(systemctl reboot|modprobe|\bdkms\b|grub|/sys/module|/sys/class|amdgpu-install|usermod|newgrp|/dev/kfd|/dev/dri|/lib/firmware|/proc/driver)",
         is_native},
        {"AMD",
         R"(\b(HIP|HSA|ROCR|ROCM|ROCBLAS|MIOPEN|HIPBLAS|BNB_ROCM|PYTORCH_ROCM|PYTORCH_HIP|AMD|AMDGCN|TRITON_HIP|TORCH_ROCM|TORCH_BLAS)_|/dev/kfd|\brocm|\bamdgpu\b|gfx\d|amdsmi|amd_smi|/opt/rocm|rocrand|miopen)",
         [](const MatrixHost& host) { return host.amd; }},
        {"NVIDIA",
         R"(nvidia-(smi|driver|open|ctk|container|modprobe|persistenced|fabricmanager|suspend|dkms)|system76-driver-nvidia|-S nvidia|akmod|--gpus|nvidia\.com|/whl/cu\d|\bCUBLAS|CUDA_ARCH|sm_\d)",
         [](const MatrixHost& host) { return host.nvidia; }},
        {"services of systemd", R"(\bsystemctl (enable|start|stop|poweroff|reboot)\b|\bjournalctl\b)",
         is_native},
        {"apk", R"(\bapk add\b)", [](const MatrixHost& host) { return host.package_manager == "apk"; }},
        {"NVIDIA's targets for AMD's tools", R"((gfx|ROCM_ARCH=|device-)sm_)",
         [](const MatrixHost&) { return false; }},
        {"the shell of Unix",
         R"(\bexport |\bunset |\bprintenv\b|\bsudo\b|/bin/|\$\(|/etc/|/proc/|/sys/|/dev/|~/|\bgrep\b|\bls \b|\bcp \b|\brm \b|\bmv \b|\bulimit\b|\bcat\b|\bps -|\benv -u|\benv [A-Z]|^[A-Z_]+=\S+ \S|\bfor \w+ in\b|\bkill \d|ldconfig|\bfind /|\bdf -|\bid -)",
         [](const MatrixHost& host) { return !on_windows(host); }},
        {"PowerShell", R"(\$env:|Remove-Item|Get-ChildItem|Scripts[/\\])", on_windows},
        {"wsl.exe", R"(\bwsl --)", is_wsl},
        {"docker", R"(\bdocker\b($|[^:]))", // docker://IMAGE is a place that Apptainer reads
         [](const MatrixHost& host) { return !in_container(host) || host.container == "docker"; }},
        {"podman", R"(\bpodman\b)",
         [](const MatrixHost& host) { return host.container == "podman" || host.container.empty(); }},
        {"Apptainer", R"(\b(apptainer|singularity) (exec|pull|run)\b)",
         [](const MatrixHost& host) { return host.container == "singularity"; }},
        {"conda", R"(\bconda )", [](const MatrixHost& host) { return host.conda; }},
        {"a search path without /opt/rocm in it",
         R"(\bunset .*LD_LIBRARY_PATH|\benv .*-u LD_LIBRARY_PATH|\bLD_LIBRARY_PATH=(""|'')?(\s|$)|LD_LIBRARY_PATH .*grep -v "\^/opt/rocm")",
         [](const MatrixHost& host) { return host.rocm_on_library_path; }},
    };
    return all;
}

const std::vector<Belonging>& belongings_of_questions() {
    static const std::vector<Belonging> all{
        {"Debian", R"(\bapt(-get)?\b|\bdpkg\b)", is_debian},
        {"Fedora", R"(\bdnf\b|\brpm -)",
         [](const MatrixHost& host) { return host.package_manager == "dnf"; }},
        {"Unix",
         R"(\b(uname|dmesg|lsmod|modinfo|lspci|ldd|ldconfig|ulimit|sudo|rocminfo)\b|\| ?(grep|wc|tr)\b|\b(ls|cat|df|id|free|find|tr) [-/'*<]|kernel log|/dev/|/proc/|/sys/|/etc/|/opt/|/usr/|/lib/|/tmp\b|~/|\bld\.lld\b|[A-Z]=\S+ python|\.so\b|\bsession\b|^[A-Z_]+=\S+ \S)",
         [](const MatrixHost& host) { return !on_windows(host); }},
        {"the kernel of native Linux",
         R"(\b(lsmod|modinfo|lspci|dkms|amdgpu|kfd)\b|/dev/kfd|/dev/dri|/sys/|/lib/firmware|/proc/driver|/proc/cmdline|mem_info_vram|nomodeset)",
         is_native},
        {"AMD",
         R"((?i)\b(HIP|HSA|ROCR|ROCM|ROCBLAS|MIOPEN|HIPBLASLT|AMD|AMDGCN|TORCH_BLAS)_|\bgfx|\brocm|\bkfd\b|\bamdgpu\b|amd_?smi|rocrand|hipblas|\btensile|\bhipinfo\b)",
         [](const MatrixHost& host) { return host.amd || host.any_amd; }},
        {"NVIDIA", R"(nvidia-smi|/proc/driver/nvidia|\bNVIDIA_|nvidia_icd|libGLX_nvidia|\bNVRM\b)",
         [](const MatrixHost& host) { return host.nvidia; }},
        {"collectives of AMD and NVIDIA", R"(\bNCCL_)",
         [](const MatrixHost& host) {
             return (host.any_amd || host.amd || host.nvidia) && !on_windows(host);
         }},
        {"PowerShell", R"(Get-ChildItem|\$env:)", on_windows},
        {"WSL", R"(/dev/dxg|works in WSL)",
         [](const MatrixHost& host) { return is_wsl(host) || host.system.empty(); }},
        {"containers",
         R"(\b(in|inside) the container\b|the container's|container and the command|\brootful\b)",
         may_be_in_container},
    };
    return all;
}

const std::vector<const Belonging*>& belongings_of(const std::string& line,
                                                   const std::vector<Belonging>& all) {
    static std::map<const void*, std::map<std::string, std::vector<const Belonging*>>> known;
    const auto [found, added] = known[&all].try_emplace(line);
    if (added)
        for (const Belonging& one : all)
            if (RE2::PartialMatch(line, *one.pattern))
                found->second.push_back(&one);
    return found->second;
}

} // namespace rekindle::doctor::fixtures
