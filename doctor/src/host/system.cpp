#include "collectors.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <gnu/libc-version.h>
#include <limits>
#include <sys/resource.h>
#include <sys/utsname.h>

namespace rekindle::doctor {

namespace {

/// Value of a `key: value` or `key=value` line; nullopt when there is none.
std::optional<std::string> field(std::string_view text, std::string_view key, char separator) {
    for (const std::string_view line : split(text, '\n')) {
        const std::size_t at = line.find(separator);
        if (at != std::string_view::npos && trim(line.substr(0, at)) == key)
            return std::string(trim(line.substr(at + 1)));
    }
    return std::nullopt;
}

std::optional<std::string> unquoted(std::optional<std::string> value) {
    if (value && value->size() >= 2 && (value->front() == '"' || value->front() == '\'') &&
        value->back() == value->front())
        return value->substr(1, value->size() - 2);
    return value;
}

void read_release(HostFiles& files, System& system) {
    Fact<std::string> release = files.read("/etc/os-release");
    if (!release)
        release = files.read("/usr/lib/os-release");
    const auto entry = [&](const char* key) {
        return derive<std::string>(release,
                                   [&](const std::string& text) { return unquoted(field(text, key, '=')); });
    };
    system.os_id = entry("ID");
    system.os_name = entry("PRETTY_NAME");
    system.os_version = entry("VERSION_ID");
    if (release.known() && !system.os_version.known()) // a rolling distribution has none
        system.os_version = {};
}

/// For a recorded host: the architecture that its shell was built for.
Fact<std::string> architecture_of_programs(HostFiles& files) {
    return derive<std::string>(files.read_part("/bin/sh", 0, 20),
                               [](const std::string& head) -> std::optional<std::string> {
                                   if (head.size() < 20 || !head.starts_with("\177ELF"))
                                       return std::nullopt;
                                   switch (static_cast<unsigned char>(head[18])) { // e_machine
                                   case 62:
                                       return "x86_64";
                                   case 183:
                                       return "aarch64";
                                   case 243:
                                       return "riscv64";
                                   case 21:
                                       return "ppc64le";
                                   case 3:
                                       return "i686";
                                   default:
                                       return std::nullopt;
                                   }
                               });
}

void read_kernel(HostFiles& files, System& system) {
    system.kernel = files.line("/proc/sys/kernel/osrelease");
    system.kernel_command_line = files.line("/proc/cmdline");
    utsname names{};
    if (files.live() && ::uname(&names) == 0)
        system.architecture = {names.machine, "uname"};
    else if (!files.live())
        system.architecture = architecture_of_programs(files);
    system.processor =
        derive<std::string>(files.read("/proc/cpuinfo", 16 << 20), [](const std::string& text) {
            auto name = field(text, "model name", ':');
            return name ? name : field(text, "Processor", ':');
        });
}

/// For a recorded host: the version that the C library contains as text.
Fact<std::string> recorded_glibc(HostFiles& files) {
    for (const char* path : {"/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6", "/usr/lib/libc.so.6",
                             "/lib/aarch64-linux-gnu/libc.so.6"}) {
        const Fact<std::string> library = files.read_part(path, 0, 8 << 20);
        if (!library)
            continue;
        return derive<std::string>(library, [](const std::string& bytes) -> std::optional<std::string> {
            constexpr std::string_view before = "release version ";
            const std::size_t at = bytes.find(before, bytes.find("GNU C Library"));
            if (at == std::string::npos)
                return std::nullopt;
            const std::string_view rest = std::string_view(bytes).substr(at + before.size(), 16);
            return std::string(rest.substr(0, std::min(rest.find_first_not_of("0123456789."), rest.size())))
                .substr(0, rest.find_last_of("0123456789") + 1);
        });
    }
    return Fact<std::string>::failed("not recorded", "");
}

void read_memory(HostFiles& files, System& system) {
    const Fact<std::string> text = files.read("/proc/meminfo");
    const auto entry = [&](const char* key) {
        return derive<std::uint64_t>(text, [&](const std::string& content) -> std::optional<std::uint64_t> {
            const auto value = field(content, key, ':'); // "65536 kB"
            const auto kibibytes =
                value ? parse_number<std::uint64_t>(split(*value, ' ').front()) : std::nullopt;
            if (!kibibytes || *kibibytes > std::numeric_limits<std::uint64_t>::max() / 1024)
                return std::nullopt;
            return *kibibytes * 1024;
        });
    };
    system.memory_total = entry("MemTotal");
    system.memory_available = entry("MemAvailable");
    system.swap_total = entry("SwapTotal");

    const Fact<FileSystemSpace> shared =
        files.live() ? files.space("/dev/shm") : Fact<FileSystemSpace>::failed("not recorded", "/dev/shm");
    system.shared_memory_total = derive<std::uint64_t>(
        shared, [](const FileSystemSpace& space) { return std::optional(space.total); });
    system.shared_memory_free =
        derive<std::uint64_t>(shared, [](const FileSystemSpace& space) { return std::optional(space.free); });
}

/// "Max open files   1024   1048576   files" of a recorded /proc/self/limits.
std::optional<std::uint64_t> recorded_limit(const std::string& text, std::string_view name,
                                            std::size_t column) {
    for (std::string_view line : split(text, '\n')) {
        if (!line.starts_with(name))
            continue;
        line = trim(line.substr(name.size()));
        for (std::size_t i = 0; i < column; ++i)
            line = trim(line.substr(std::min(line.find(' '), line.size())));
        const std::string_view word = line.substr(0, line.find(' '));
        return word == "unlimited" ? std::numeric_limits<std::uint64_t>::max()
                                   : parse_number<std::uint64_t>(word);
    }
    return std::nullopt;
}

void read_limits(HostFiles& files, System& system) {
    if (files.live()) {
        const auto limit = [](int resource, bool hard) -> Fact<std::uint64_t> {
            rlimit limits{};
            if (::getrlimit(static_cast<__rlimit_resource>(resource), &limits) != 0)
                return Fact<std::uint64_t>::failed(reason_text(errno), "getrlimit");
            return {hard ? limits.rlim_max : limits.rlim_cur, "getrlimit"}; // RLIM_INFINITY is 2^64-1
        };
        system.open_files_limit = limit(RLIMIT_NOFILE, false);
        system.open_files_hard_limit = limit(RLIMIT_NOFILE, true);
        system.locked_memory_limit = limit(RLIMIT_MEMLOCK, false);
        return;
    }
    const std::string folder = own_process_folder(files);
    const Fact<std::string> text =
        folder.empty() ? Fact<std::string>::failed("not recorded", "") : files.read(folder + "/limits");
    const auto entry = [&](std::string_view name, std::size_t column) {
        return derive<std::uint64_t>(
            text, [&](const std::string& content) { return recorded_limit(content, name, column); });
    };
    system.open_files_limit = entry("Max open files", 0);
    system.open_files_hard_limit = entry("Max open files", 1);
    system.locked_memory_limit = entry("Max locked memory", 0);
}

void read_iommu(HostFiles& files, System& system) {
    const Fact<std::vector<FolderEntry>> units = files.list("/sys/class/iommu");
    if (units.known())
        system.iommu_enabled = {!units->empty(), units.source};
    else if (files.exists("/sys/class")) // a kernel without IOMMU drivers
        system.iommu_enabled = {false, "/sys/class/iommu"};
    else
        system.iommu_enabled = Fact<bool>::failed(units.unread, units.source);
}

} // namespace

void read_system(HostFiles& files, System& system) {
    read_release(files, system);
    read_kernel(files, system);
    system.glibc =
        files.live() ? Fact<std::string>(::gnu_get_libc_version(), "this process") : recorded_glibc(files);
    read_memory(files, system);
    read_limits(files, system);
    read_iommu(files, system);
}

} // namespace rekindle::doctor
