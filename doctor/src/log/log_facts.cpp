#include "log/log_facts.h"

#include "log/clean_line.h"

#include <rekindle/base/text.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <re2/re2.h>

namespace rekindle::doctor {
namespace {

/// A line that a pattern matched, and where its facts go.
struct Shown {
    std::string_view line;
    std::string_view source;
    Situation& into;
    const Knowledge& knowledge;
    std::string_view key;   ///< of its extraction
    std::string_view value; ///< of its extraction

    /// A value that is already there was found further down in the log.
    void set(std::string_view name, std::string_view text) const {
        if (into.find(name) == nullptr)
            into.add(name, text, source);
    }
    void set_number(std::string_view name, double number) const {
        if (into.find(name) == nullptr)
            into.set_number(name, number, source);
    }
};

using Take = void (*)(const RE2& pattern, const Shown& shown);

std::string first_group(const RE2& pattern, std::string_view line) {
    std::string group;
    RE2::PartialMatch(line, pattern, &group);
    return group;
}

void add_group(const RE2& pattern, const Shown& shown) {
    shown.into.add(shown.key, first_group(pattern, shown.line), shown.source);
}

void set_group(const RE2& pattern, const Shown& shown) {
    shown.set(shown.key, first_group(pattern, shown.line));
}

void add_value(const RE2&, const Shown& shown) {
    shown.into.add(shown.key, shown.value, shown.source);
}

/// A line with three or more targets lists what a library has, not what a device is.
void add_gfx(const RE2& pattern, const Shown& shown) {
    static const RE2 any_target(R"((?i)\bgfx\d{2,4}[0-9a-f]?)", RE2::Quiet);
    re2::StringPiece rest = shown.line;
    int count = 0;
    while (count < 3 && RE2::FindAndConsume(&rest, any_target))
        ++count;
    if (count >= 3 && shown.key != "message_gfx")
        return;
    std::string gfx = first_group(pattern, shown.line);
    std::transform(gfx.begin(), gfx.end(), gfx.begin(), [](unsigned char c) { return std::tolower(c); });
    shown.into.add(shown.key, gfx, shown.source);
}

void add_gpu_name(const Shown& shown, std::string_view name) {
    static const RE2 generic(R"((?i)radeon(\(tm\))? (\d{3}m )?graphics|\bigpu\b|\bapu\b)", RE2::Quiet);
    name = trim(name);
    if (name.empty())
        return;
    const GpuModel* model = shown.knowledge.gpu_named(name);
    if (model != nullptr)
        shown.into.add("gpu", model->name, shown.source);
    shown.into.add("gpu", name, shown.source);
    if (model != nullptr ? model->integrated : RE2::PartialMatch(name, generic))
        shown.set("integrated", "true");
}

void take_gpu_name(const RE2& pattern, const Shown& shown) {
    add_gpu_name(shown, first_group(pattern, shown.line));
}

/// "['AMD Radeon(TM) Graphics', 'AMD Radeon RX 7900 XT']"
void take_gpu_list(const RE2& pattern, const Shown& shown) {
    static const RE2 item(R"(['"]([^'"]+)['"])", RE2::Quiet);
    const std::string list = first_group(pattern, shown.line);
    re2::StringPiece rest = list;
    std::string name;
    int count = 0;
    for (; RE2::FindAndConsume(&rest, item, &name); ++count)
        add_gpu_name(shown, name);
    shown.set_number("devices", count);
}

void take_device_count(const RE2& pattern, const Shown& shown) {
    int count = 0;
    if (RE2::PartialMatch(shown.line, pattern, &count))
        shown.set_number("devices", count);
}

/// "uid=1000(anna) gid=1000(anna) groups=1000(anna),27(sudo)"
void take_groups(const RE2& pattern, const Shown& shown) {
    static const RE2 name(R"(\(([^)]+)\))", RE2::Quiet);
    const std::string list = first_group(pattern, shown.line);
    re2::StringPiece rest = list;
    for (std::string found; RE2::FindAndConsume(&rest, name, &found);)
        shown.into.add("group", found, shown.source);
}

/// Assignments at the start of a command line; "consider passing AMD_SERIALIZE_KERNEL=3" is not one.
void take_assignments(const RE2&, const Shown& shown) {
    static const RE2 start(R"((?i)^(?:\S{0,80}[$#%>]\s+)?(?:(?:export|set|env|sudo|setx)\s+|\$env:)*)",
                           RE2::Quiet);
    static const RE2 assignment(
        R"re(^([A-Z][A-Z0-9]*_[A-Z0-9_]+)\s?=\s?("[^"]*"|'[^']*'|[^\s;"']*)[\s;&]*)re", RE2::Quiet);
    re2::StringPiece rest = without_prefix(shown.line);
    RE2::Consume(&rest, start);
    std::string name;
    std::string value;
    while (RE2::Consume(&rest, assignment, &name, &value)) {
        if (value.size() >= 2 && (value.front() == '"' || value.front() == '\''))
            value = value.substr(1, value.size() - 2);
        shown.set("env." + name, value.empty() ? "(empty)" : value);
    }
}

void take_docker_variable(const RE2& pattern, const Shown& shown) {
    re2::StringPiece rest = shown.line;
    std::string name;
    std::string value;
    while (RE2::FindAndConsume(&rest, pattern, &name, &value))
        shown.set("env." + name, value);
}

/// "numpy==1.26.4", "numpy   1.26.4" from pip list, and the names in "Successfully installed a-1 b-2".
void take_package(const RE2& pattern, const Shown& shown) {
    re2::StringPiece rest = shown.line;
    std::string name;
    std::string version;
    while (RE2::FindAndConsume(&rest, pattern, &name, &version)) {
        std::transform(name.begin(), name.end(), name.begin(),
                       [](unsigned char c) { return std::tolower(c); });
        std::replace(name.begin(), name.end(), '_', '-');
        if (name == "torch")
            shown.set("torch", version);
        else
            shown.set("package." + name, version);
    }
}

double in_gib(std::string_view amount, std::string_view unit) {
    double number = 0;
    std::from_chars(amount.data(), amount.data() + amount.size(), number);
    switch (unit.empty() ? 'b' : unit.front() | 0x20) {
    case 't':
        return number * 1024;
    case 'g':
        return number;
    case 'm':
        return number / 1024;
    case 'k':
        return number / (1024.0 * 1024);
    default:
        return number / (1024.0 * 1024 * 1024);
    }
}

void set_memory(const RE2& pattern, const Shown& shown) {
    std::string amount;
    std::string unit;
    if (RE2::PartialMatch(shown.line, pattern, &amount, &unit))
        shown.set_number(shown.key, in_gib(amount, unit));
}

/// Sum over every "Process 4711 has 3.91 GiB memory in use" in a message.
void take_other_processes(const RE2& pattern, const Shown& shown) {
    re2::StringPiece rest = shown.line;
    std::string amount;
    std::string unit;
    double sum = 0;
    while (RE2::FindAndConsume(&rest, pattern, &amount, &unit))
        sum += in_gib(amount, unit);
    shown.set_number("oom.other_process_gib", sum);
}

/// "98304M" in the kernel log.
void set_mebibytes(const RE2& pattern, const Shown& shown) {
    double amount = 0;
    if (RE2::PartialMatch(shown.line, pattern, &amount))
        shown.set_number(shown.key, amount / 1024);
}

/// Memory, in bytes or another unit, that a tool reports as used or total, with the number of the GPU:
/// "GPU[1] : …".
void set_of_card(const RE2& pattern, const Shown& shown) {
    static const RE2 number(R"((?i)\b(?:gpu|card)\s*\[?(\d{1,2})\b)", RE2::Quiet);
    std::string amount;
    std::string unit;
    if (RE2::PartialMatch(shown.line, pattern, &amount, &unit))
        shown.set_number(std::string(shown.key) + first_group(number, shown.line), in_gib(amount, unit));
}

/// "24211MiB / 24564MiB", "21457534976 of 21458059264 bytes": the fullest GPU counts.
void take_used_of_total(const RE2& pattern, const Shown& shown) {
    std::string used;
    std::string used_unit;
    std::string total;
    std::string total_unit;
    if (!RE2::PartialMatch(shown.line, pattern, &used, &used_unit, &total, &total_unit))
        return;
    const double whole = in_gib(total, total_unit);
    const double share = whole > 0 ? in_gib(used, used_unit.empty() ? total_unit : used_unit) / whole : 0;
    if (share > shown.into.number("vram_used_share").value_or(-1))
        shown.into.set_number("vram_used_share", share, shown.source);
}

/// The percentage that rocm-smi prints.
void take_used_percent(const RE2& pattern, const Shown& shown) {
    double percent = 0;
    if (RE2::PartialMatch(shown.line, pattern, &percent) &&
        percent / 100 > shown.into.number("vram_used_share").value_or(-1))
        shown.into.set_number("vram_used_share", percent / 100, shown.source);
}

struct Extraction {
    const char* pattern;
    Take take;
    std::string_view key = {};   ///< of the fact, for functions that serve several keys
    std::string_view value = {}; ///< for add_value
};

constexpr std::array extractions{
    // Devices as the runtime lists them.
    Extraction{R"(\bdevice\s*#?\d+\s*[:=].{0,120}?\b(gfx\d{2,4}[0-9a-f]?)\b)", add_gfx, "device_gfx"},
    Extraction{R"(^\W*name:\s+(?:amdgcn-amd-amdhsa--)?(gfx\d{2,4}[0-9a-f]?)\b)", add_gfx, "shown_gfx"},
    Extraction{R"(gcnArchName\W{1,8}(gfx\d{2,4}[0-9a-f]?)\b)", add_gfx, "shown_gfx"},
    Extraction{R"(\bdevice\s*#?\d+\s*:\s*([^,\[(]{4,80}))", take_gpu_name},
    Extraction{R"(marketing name:\s+(\S.{2,80}))", take_gpu_name},
    Extraction{R"(found gpu\d+ (.{4,80}?) which is)", take_gpu_name},
    Extraction{R"(^\W*(\S.{3,80}?) with cuda capability sm_\d)", take_gpu_name},
    Extraction{R"(\b(?:gpu|device) name\s*[:=]\s*(\S.{2,80}))", take_gpu_name},
    Extraction{R"(\[([^\]]*\b(?:radeon|geforce|instinct|nvidia|graphics)\b[^\]]*)\])", take_gpu_list},
    Extraction{R"(\b(?:found|number of hip devices in the system:)\s*(\d{1,2}) (?:rocm|cuda|hip) devices)",
               take_device_count},
    Extraction{R"(number of hip devices in the system:\s*(\d{1,2})\b)", take_device_count},
    Extraction{R"(\bwith cuda capability sm_(\d{2,3})\b)",
               [](const RE2& pattern, const Shown& shown) {
                   const std::string digits = first_group(pattern, shown.line);
                   shown.into.add("gfx", "sm_" + digits, shown.source);
                   shown.into.add("compute_capability",
                                  digits.substr(0, digits.size() - 1) + "." + digits.back(), shown.source);
               }},
    Extraction{R"(which is of cuda capability (\d{1,2}\.\d)\b)", add_group, "compute_capability"},
    // Targets that a failure is about.
    Extraction{R"(gpu arch\s*:\s*(gfx\d{2,4}[0-9a-f]?)\b)", add_gfx, "message_gfx"},
    Extraction{R"(objects? found for:?\s*(gfx\d{2,4}[0-9a-f]?)\b)", add_gfx, "message_gfx"},
    Extraction{R"(compiling for (gfx\d{2,4}[0-9a-f]?)\b)", add_gfx, "message_gfx"},
    Extraction{R"(no paths matched.{0,200}\*?(gfx\d{2,4}[0-9a-f]?)\*?co)", add_gfx, "message_gfx"},
    Extraction{R"(system database file:\s*(gfx\d{2,4}[0-9a-f]?)_)", add_gfx, "message_gfx"},
    Extraction{R"(unsupported (?:gpu|arch\w*|target)\W{1,4}(gfx\d{2,4}[0-9a-f]?)\b)", add_gfx, "message_gfx"},
    Extraction{R"(\b(gfx\d{2,4}[0-9a-f]?)\b.{0,40}\bnot supported)", add_gfx, "message_gfx"},
    // Software.
    Extraction{R"(\b([12]\.\d+\.\d+(?:\.dev\d+|a0|rc\d+)?\+(?:devrocm|rocm|cu|cpu)[\w.]*))", set_group,
               "torch"},
    Extraction{R"(\bpytorch version\s*:?\s*v?(\d+\.\d+\.\d+\S*))", set_group, "torch"},
    Extraction{
        R"re(\b(torch|numpy|triton|pytorch-triton-rocm|triton-rocm|bitsandbytes|amdsmi|torch[-_]directml|flash[-_]attn|xformers|lightning|pytorch-lightning)(?:==|-)(\d[\w.+]*))re",
        take_package},
    Extraction{
        R"re(^\W*(torch|numpy|triton|pytorch-triton-rocm|triton-rocm|bitsandbytes|amdsmi|torch[-_]directml|flash[-_]attn|xformers|lightning|pytorch-lightning)\s+(\d+\.\d+[\w.+]*)\s*(?:pypi.*)?$)re",
        take_package},
    Extraction{R"(successfully installed.*\bnvidia[-_]cublas[-_]cu\d+)", add_value, "torch_kind", "cuda"},
    Extraction{R"(\b(?:HIP error|HIP out of memory|torch\.AcceleratorError: HIP)\b)", add_value, "torch_kind",
               "rocm"},
    Extraction{R"(/opt/rocm-(\d+\.\d+(?:\.\d+)?)\b)", add_group, "rocm_system"},
    Extraction{R"(\\rocm\\(\d+\.\d+)\\)", add_group, "rocm_system"},
    Extraction{R"(\brocm(?:[ -]?version)?\s*[:=]\s*v?(\d+\.\d+(?:\.\d+)?)\b)", add_group, "rocm_system"},
    Extraction{R"([/\\]python(3\.\d{1,2})[/\\])", add_group, "python"},
    Extraction{R"(\bpython(?: version)?:? (3\.\d{1,2}(?:\.\d+)?)\b)", set_group, "python"},
    Extraction{
        R"(\btorch\b|\bRuntimeError: |TORCH_USE_(?:HIP|CUDA)_DSA|\bc10::|AcceleratorError|ComfyUI|site-packages/torch)",
        add_value, "torch_involved", "true"},
    // The system.
    Extraction{R"(\blinux version (\d+\.\d+\.\d+\S*))", set_group, "kernel"},
    Extraction{R"(\bkernel(?: version)?\s*[:=]\s*(?:linux )?(\d+\.\d+\S*))", set_group, "kernel"},
    Extraction{R"(^linux \S+ (\d+\.\d+\.\d+\S*) #\d)", set_group, "kernel"},
    Extraction{R"(microsoft-standard|\bwsl2\b|/usr/lib/wsl/|/dev/dxg\b|windows subsystem for linux)",
               add_value, "wsl", "true"},
    Extraction{R"(\b[a-z]:\\(?:users|program files|windows|programdata|[\w .-]+\\))", add_value, "os",
               "Windows"},
    Extraction{R"(/\.dockerenv|\bdocker (?:run|exec|compose)\b|\broot@[0-9a-f]{12}:)", add_value, "container",
               "docker"},
    Extraction{R"(\bpodman (?:run|exec)\b)", add_value, "container", "podman"},
    Extraction{R"(\b(?:singularity|apptainer)(?:>| exec| run| shell))", add_value, "container",
               "singularity"},
    Extraction{R"(vmware svga)", add_value, "hypervisor", "vmware"},
    Extraction{R"(hypervisor detected: (\w+))", set_group, "hypervisor"},
    Extraction{R"(/dev/kfd[^:]*: no such file or directory|cannot access '?/dev/kfd)", add_value, "kfd",
               "false"},
    Extraction{R"(\buid=\d+.*\bgroups=(.+))", take_groups},
    Extraction{R"(is member of (\w+) group)", add_group, "group"},
    Extraction{R"(([\w+.-]+\.so(?:\.\d+)*): cannot open shared object file)", set_group, "soname"},
    Extraction{R"re(file "[^"]* [^"]*[/\\]site-packages[/\\])re", add_value, "space_in_path", "true"},
    Extraction{R"(nvrm version:.*kernel module\D{0,40}(\d+\.\d+(?:\.\d+)?))", set_group, "driver_module"},
    Extraction{R"(nvml library version:\s*(\d+\.\d+(?:\.\d+)?))", set_group, "driver_library"},
    Extraction{R"(\bdriver version:\s*(\d+\.\d+(?:\.\d+)?))", set_group, "driver"},
    Extraction{R"(\bcuda version:\s*(\d+\.\d+))", set_group, "driver_cuda"},
    Extraction{R"((?:shm|tmpfs)\s+(\d+)M\s.*/dev/shm)", set_group, "shm_mib"},
    Extraction{R"(open files\s+\(-n\)\s+(\d+))", set_group, "open_files_limit"},
    Extraction{
        R"(^.{0,120}?\b(?:HSA|HIP|HCC|ROCR|ROCM|ROC|CUDA|PYTORCH|TORCH\w*|MIOPEN|ROCBLAS|HIPBLASLT|TENSILE|NCCL|RCCL|TRITON|AMD|AMDGPU|GPU|VK|LD|FLASH|OMP|MESA|RADV)_[A-Z0-9_]+\s?=)",
        take_assignments},
    Extraction{R"re(\s(?:-e|--env)[ =]([A-Z][A-Z0-9_]+)=("[^"]*"|\S+))re", take_docker_variable},
    // Memory.
    Extraction{R"(tried to allocate (\d[\d.]*) ([kmgt]i?b|bytes))", set_memory, "oom.tried_gib"},
    Extraction{R"(total cap(?:aci?)?ty of (\d[\d.]*) ([kmgt]i?b))", set_memory, "oom.capacity_gib"},
    Extraction{R"((\d[\d.]*) ([kmgt]i?b) total capaci?ty)", set_memory, "oom.capacity_gib"},
    Extraction{R"((\d[\d.]*) ([kmgt]i?b|bytes) (?:is )?free\b)", set_memory, "oom.free_gib"},
    Extraction{R"((\d[\d.]*) ([kmgt]i?b|bytes) (?:is allocated by pytorch|already allocated))", set_memory,
               "oom.allocated_gib"},
    Extraction{R"((\d[\d.]*) ([kmgt]i?b|bytes) is reserved by pytorch but unallocated)", set_memory,
               "oom.reserved_unallocated_gib"},
    Extraction{R"((\d[\d.]*) ([kmgt]i?b|bytes) reserved in total by pytorch)", set_memory,
               "oom.reserved_gib"},
    Extraction{R"(process \d+ has (\d[\d.]*) ([kmgt]i?b) memory in use)", take_other_processes},
    Extraction{R"(vram total used memory \(b\)\s*:\s*\d+)",
               [](const RE2&, const Shown& shown) {
                   static const RE2 bytes(R"((?i)used memory \(b\)\s*:\s*(\d+)(x?))", RE2::Quiet);
                   set_of_card(bytes, shown);
               },
               "vram_used_of_card"},
    Extraction{R"(vram total memory \(b\)\s*:\s*\d+)",
               [](const RE2&, const Shown& shown) {
                   static const RE2 bytes(R"((?i)total memory \(b\)\s*:\s*(\d+)(x?))", RE2::Quiet);
                   set_of_card(bytes, shown);
               },
               "vram_total_of_card"},
    Extraction{R"(mem_info_vram_used\W{1,8}(\d+)(b?))", set_of_card, "vram_used_of_card"},
    Extraction{R"(mem_info_vram_total\W{1,8}(\d+)(b?))", set_of_card, "vram_total_of_card"},
    Extraction{R"(\bused_vram\s*:\s*(\d+) ?([kmg]i?b))", set_of_card, "vram_used_of_card"},
    Extraction{R"(\btotal_vram\s*:\s*(\d+) ?([kmg]i?b))", set_of_card, "vram_total_of_card"},
    Extraction{R"(\b(\d+) ?([kmg]i?b) ?/ ?(\d+) ?([kmg]i?b)\b)", take_used_of_total},
    Extraction{R"(\b(\d{9,}) ?(b|bytes)? ?(?:of|/|out of) ?(\d{9,}) ?(b|bytes)?\b)", take_used_of_total},
    Extraction{R"((?:vram%\)|memory use \(%\))\s*:\s*(\d{1,3})\b)", take_used_percent},
    Extraction{R"(\b(?:auto|manual|low|high)\s+[\d.]+W\s+(\d{1,3})%\s+\d{1,3}%\s*$)", take_used_percent},
    Extraction{R"(\bkilled process \d+,? \(([^)]+)\))", add_group, "killed"},
    Extraction{R"(\boom-kill:.*\btask=([^,]+),)", add_group, "killed"},
    Extraction{
        R"(\b(?:hip[A-Z]\w*Error|hipError|HSA_STATUS|ROCm|rocblas|hipblas|MIOpen|amdgpu|rocminfo|rocm-smi|RCCL)|/dev/kfd)",
        add_value, "vendor_shown", "amd"},
    Extraction{
        R"(\b(?:cudaError|CUBLAS_STATUS|CUDNN_STATUS|NVRM|nvidia-smi|NVML|nvidia-container|nvcc|NVIDIA GeForce|GeForce [RG]TX))",
        add_value, "vendor_shown", "nvidia"},
    Extraction{R"(\bvram: (\d+)m 0x)", set_mebibytes, "kernel_vram_gib"},
    Extraction{R"(\b(\d+)m of vram memory ready)", set_mebibytes, "kernel_vram_gib"},
    Extraction{R"(\b(\d+)m of gtt memory ready)", set_mebibytes, "kernel_gtt_gib"},
};

} // namespace

LogFacts::LogFacts(LinePatterns& patterns) : patterns_(patterns), taken_(extractions.size()) {
    for (std::size_t i = 0; i < extractions.size(); ++i) {
        const int number = patterns.add(extractions[i].pattern);
        if (i == 0)
            first_ = number;
        last_ = number + 1;
    }
}

void LogFacts::take(int number, std::string_view line, std::string_view source, const Knowledge& knowledge) {
    if (!wants(number))
        return;
    const auto index = static_cast<std::size_t>(number - first_);
    ++taken_[index];
    extractions[index].take(patterns_.expression(number), {line, source, shown_, knowledge,
                                                           extractions[index].key, extractions[index].value});
}

void LogFacts::clear() {
    shown_ = Situation();
    std::fill(taken_.begin(), taken_.end(), 0);
}

namespace {

/// A device that was not stated is believed when nothing was stated, or when it is an integrated GPU, which
/// people often do not mention. Any other may be the result of an override.
void add_devices(Situation& situation, const Situation& shown, const Knowledge& knowledge) {
    const bool stated = situation.find("gfx") != nullptr;
    for (const std::string_view key : {"device_gfx", "message_gfx", "shown_gfx"}) {
        const Situation::Known* found = shown.find(key);
        if (found == nullptr)
            continue;
        for (const std::string& gfx : found->values) {
            if (!stated || knowledge.is_integrated(gfx))
                situation.add("gfx", gfx, found->source);
            if (key != std::string_view("message_gfx"))
                situation.add("shown_gfx", gfx, found->source);
        }
    }
}

/// Targets and vendors from the GPU names that the log shows.
void add_named(Situation& situation, const Situation& shown, const Knowledge& knowledge) {
    const Situation::Known* names = shown.find("gpu");
    if (names == nullptr)
        return;
    const bool stated = situation.find("gfx") != nullptr;
    for (const std::string& name : names->values) {
        situation.add("gpu", name, names->source);
        const GpuModel* model = knowledge.gpu_named(name);
        if (model == nullptr)
            continue;
        situation.add("vendor", model->vendor, names->source);
        if (!stated || knowledge.is_integrated(model->target))
            situation.add("gfx", model->target, names->source);
    }
}

/// What the log shows of keys for which nothing is known.
void add_unknown_keys(Situation& situation, const Situation& shown) {
    for (const auto& [key, known] : shown.known()) {
        if (situation.find(key) != nullptr)
            continue;
        for (const std::string& value : known.values)
            situation.add(key, value, known.source);
    }
}

} // namespace

void add_shown(Situation& situation, const Situation& shown, const Knowledge& knowledge) {
    add_named(situation, shown, knowledge);
    add_devices(situation, shown, knowledge);
    if (shown.has("integrated", "true"))
        situation.set("integrated", "true", shown.source("integrated"));
    add_unknown_keys(situation, shown);
    const double count = shown.number("devices").value_or(0);
    if (count > situation.number("devices").value_or(0))
        situation.set_number("devices", count, shown.source("devices"));
    if (shown.find("container") != nullptr)
        situation.add("container", "true", shown.source("container"));
}

} // namespace rekindle::doctor
