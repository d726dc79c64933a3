#include "collectors.h"
#include "library_search.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rekindle::doctor {

namespace {

/// Each CUDA toolkit comes with the driver branch that first runs it. Source: CUDA Toolkit release notes,
/// table of toolkits and drivers.
struct Branch {
    int number;
    const char* cuda;
};
constexpr std::array branches{
    Branch{390, "9.1"},  Branch{396, "9.2"},  Branch{410, "10.0"}, Branch{418, "10.1"}, Branch{440, "10.2"},
    Branch{450, "11.0"}, Branch{455, "11.1"}, Branch{460, "11.2"}, Branch{465, "11.3"}, Branch{470, "11.4"},
    Branch{495, "11.5"}, Branch{510, "11.6"}, Branch{515, "11.7"}, Branch{520, "11.8"}, Branch{525, "12.0"},
    Branch{530, "12.1"}, Branch{535, "12.2"}, Branch{545, "12.3"}, Branch{550, "12.4"}, Branch{555, "12.5"},
    Branch{560, "12.6"}, Branch{565, "12.7"}, Branch{570, "12.8"}, Branch{575, "12.9"}, Branch{580, "13.0"}};

Fact<std::string> module_version(HostFiles& files) {
    if (Fact<std::string> version = files.line("/sys/module/nvidia/version"); version.known())
        return version;
    return derive<std::string>(files.line("/proc/driver/nvidia/version"), [](const std::string& line) {
        const std::string version = nvidia_version(line);
        return version.empty() ? std::nullopt : std::optional(version);
    });
}

/// The library that programs load, by the name that its link points to: libcuda.so.550.107.02.
Fact<std::string> library_version(HostFiles& files, LibrarySearch& libraries) {
    Fact<std::string> found = Fact<std::string>::failed("no libcuda.so.1 in the linker's folders", "");
    for (const char* name : {"libcuda.so.1", "libnvidia-ml.so.1"}) {
        const std::string path = libraries.find(name);
        if (path.empty())
            continue;
        const std::string real = files.resolve(path).value_or(path);
        const std::string version = nvidia_version(real.substr(real.rfind(".so.") + 4));
        if (!version.empty())
            return {version, real};
        found = Fact<std::string>::failed("its name has no version", real);
    }
    return found;
}

void read_information(HostFiles& files, Gpu& gpu) {
    const std::string path = fmt::format("/proc/driver/nvidia/gpus/{}/information", gpu.address);
    const Fact<std::string> text = files.read(path);
    const auto entry = [&](std::string_view key) {
        return derive<std::string>(text, [&](const std::string& content) -> std::optional<std::string> {
            for (const std::string_view line : split(content, '\n'))
                if (line.starts_with(key))
                    return std::string(trim(line.substr(key.size())));
            return std::nullopt;
        });
    };
    gpu.name = entry("Model:");
    gpu.uuid = entry("GPU UUID:");
    if (gpu.uuid && gpu.uuid->find('?') != std::string::npos) // before the GPU is initialized
        gpu.uuid = Fact<std::string>::failed("not known until the GPU is used", path);
    const char* reason = "only the driver's library reports it";
    gpu.compute_capability = Fact<std::string>::failed(reason, "");
    gpu.vram_total = Fact<std::uint64_t>::failed(reason, "");
    gpu.vram_used = Fact<std::uint64_t>::failed(reason, "");
}

} // namespace

std::string nvidia_version(std::string_view text) {
    for (const std::string_view word : split(text, ' ')) {
        const bool digits = word.find_first_not_of("0123456789.") == std::string_view::npos;
        const std::size_t dot = word.find('.');
        if (digits && dot >= 2 && dot != std::string_view::npos && dot + 1 < word.size())
            return std::string(word);
    }
    return "";
}

Fact<std::string> newest_cuda(const Fact<std::string>& driver) {
    return derive<std::string>(driver, [](const std::string& version) -> std::optional<std::string> {
        const auto number = parse_number<int>(split(version, '.').front());
        const auto found = std::find_if(branches.begin(), branches.end(),
                                        [&](const Branch& branch) { return branch.number == number; });
        if (found == branches.end())
            return std::nullopt;
        return found->cuda;
    });
}

void read_nvidia(HostFiles& files, LibrarySearch& libraries, Facts& facts) {
    bool present = files.exists("/proc/driver/nvidia");
    for (Gpu& gpu : facts.gpus) {
        if (gpu.vendor != "nvidia")
            continue;
        present = true;
        if (gpu.kernel_driver.is("nvidia"))
            read_information(files, gpu);
    }
    if (!present && !facts.system.wsl.is(2))
        return;
    facts.drivers.nvidia_library = library_version(files, libraries);
    if (!present)
        return;
    facts.drivers.nvidia_module = module_version(files);
    facts.drivers.nvidia_cuda = newest_cuda(facts.drivers.nvidia_library ? facts.drivers.nvidia_library
                                                                         : facts.drivers.nvidia_module);
}

} // namespace rekindle::doctor
