#include "log/questions.h"

#include "log/host_situation.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <re2/re2.h>

namespace rekindle::doctor {

namespace {

enum class In { anywhere, container };

/// A text with these words is only for such hosts. An empty list accepts all.
struct Belonging {
    Belonging(const char* pattern, std::vector<std::string_view> of_systems,
              std::vector<std::string_view> of_vendors, In where = In::anywhere)
        : words(std::make_shared<RE2>(pattern)), systems(std::move(of_systems)),
          vendors(std::move(of_vendors)), place(where) {}

    std::shared_ptr<RE2> words;
    std::vector<std::string_view> systems;
    std::vector<std::string_view> vendors;
    In place;
};

const std::vector<Belonging>& belongings() {
    static const std::vector<Belonging> all{
        // Unix
        {R"(\b(uname|dmesg|lspci|lsmod|modinfo|ldd|ldconfig|ulimit|grep|dpkg|rpm|sudo|dkms|rocminfo|glibc|errno|cgroup|fdinfo)\b)"
         R"(|\b(ls|cat|df|id|free|find|tr) [-/~<'*]|kernel (log|driver)|in that session|\(D or R\))"
         R"(|/(dev|proc|sys|etc|lib|usr|opt)/|/tmp\b|~/|make\.log|ld\.lld|\b[A-Z_]+=\S+ python|\.so\b|\blibstdc|LD_LIBRARY_PATH|\bNCCL_)",
         {"linux", "wsl"},
         {}},
        // drivers in the kernel of Linux itself
        {R"(/dev/(kfd|dri)|/sys/|/lib/firmware|linux-firmware|/proc/(driver|cmdline)|mem_info_vram|ACSCtl)"
         R"(|\b(dkms|modinfo|lsmod|lspci|modprobe|amdgpu|kfd|KFD|nomodeset|MES|NVRM)\b)",
         {"linux"},
         {}},
        {R"(/dev/dxg|in WSL,)", {"wsl"}, {}},
        {R"(Get-ChildItem)", {"windows"}, {}},
        {R"(\bgfx|\b(rocm|ROCm|kfd|KFD|amdgpu|amdsmi|amd_smi|rocrand|miopen|MIOpen|rocBLAS|hipBLAS|hipInfo|MES|SMU)|libhsa|hipblas|[Tt]ensile|AOTriton|mem_info_vram)"
         R"(|\b(HIP|HSA|HSAKMT|ROC|ROCR|ROCM|ROCBLAS|HIPBLAS|HIPBLASLT|MIOPEN|TENSILE|AMD|AMDGCN|BNB_ROCM|PYTORCH_ROCM|PYTORCH_HIP|TRITON_HIP|TORCH_ROCM|TORCH_BLAS)_)",
         {},
         {"amd"}},
        {R"(nvidia-smi|/proc/driver/nvidia|NVIDIA_|nvidia_icd|libGLX_nvidia|NVRM|or nvidia\b|CUDA_LAUNCH_BLOCKING)",
         {},
         {"nvidia"}},
        {R"(\bNCCL_)", {}, {"amd", "nvidia"}},
        {R"(\b(in|inside) the container\b|the container's|container and the command|rootful|uid_map)",
         {},
         {},
         In::container},
    };
    return all;
}

bool accepts(const std::vector<std::string_view>& list, std::string_view one) {
    return list.empty() || std::find(list.begin(), list.end(), one) != list.end();
}

bool is_for(const Belonging& belonging, const Ground& ground) {
    const bool system = ground.system.empty()
                            ? accepts(belonging.systems, "linux") || accepts(belonging.systems, "wsl")
                            : accepts(belonging.systems, ground.system);
    const bool vendor = ground.vendors.empty() ||
                        std::any_of(ground.vendors.begin(), ground.vendors.end(),
                                    [&](const std::string& one) { return accepts(belonging.vendors, one); });
    return system && vendor && (belonging.place != In::container || ground.in_container.value_or(true));
}

} // namespace

Ground ground_of(const Facts& facts, const Situation& situation) {
    Ground ground;
    ground.system = system_of(facts.system);
    const auto add = [&](const std::string& vendor) {
        if (std::find(ground.vendors.begin(), ground.vendors.end(), vendor) == ground.vendors.end())
            ground.vendors.push_back(vendor);
    };
    for (const std::string_view key : {"vendor", "vendor_shown"})
        if (const Situation::Known* known = situation.find(key))
            std::for_each(known->values.begin(), known->values.end(), add);
    if (ground.vendors.empty() && situation.has("torch_kind", "rocm"))
        ground.vendors = {"amd"};
    if (ground.vendors.empty() && situation.has("torch_kind", "cuda"))
        ground.vendors = {"nvidia"};
    if (situation.find("container") != nullptr)
        ground.in_container = !situation.has("container", "none") && !situation.has("container", "false");
    return ground;
}

std::optional<std::string> question_for(std::string_view question, const Ground& ground) {
    static const RE2 of_the_kernel(
        R"(\b(dmesg|dkms|lsmod|modinfo)\b|kernel log|/lib/firmware|linux-firmware)");
    static const RE2 names_a_place(R"(\b(host|container)\b)");
    const re2::StringPiece text(question.data(), question.size());
    for (const Belonging& one : belongings())
        if (RE2::PartialMatch(text, *one.words) && !is_for(one, ground))
            return std::nullopt;
    std::string result(question);
    if (ground.system == "windows")
        RE2::GlobalReplace(&result, R"(\bpython3\b)", "python");
    if (ground.in_container == true && RE2::PartialMatch(text, of_the_kernel) &&
        !RE2::PartialMatch(text, names_a_place))
        result += " (on the host, outside the container)";
    return result;
}

std::vector<std::string> questions_for(const std::vector<std::string>& questions, const Ground& ground) {
    std::vector<std::string> fitting;
    for (const std::string& question : questions)
        if (auto text = question_for(question, ground))
            fitting.push_back(std::move(*text));
    return fitting;
}

void Questions::add(std::string_view question, double weight) {
    const auto text = question_for(question, ground_);
    if (!text || text->empty())
        return;
    const auto found =
        std::find_if(asked_.begin(), asked_.end(), [&](const auto& other) { return other.first == *text; });
    if (found == asked_.end())
        asked_.emplace_back(*text, weight);
    else
        found->second += weight;
}

void Questions::add_key(std::string_view key, double weight) {
    const KeyInfo* info = condition_key(key);
    if (info == nullptr)
        return;
    if (info->kind == KeyKind::variable) {
        add(fmt::format("env: {} as the failing process sees it (set, to what, or not set)", key.substr(4)),
            weight);
        return;
    }
    add_first(info->ask, weight);
}

void Questions::add_first(const Ask& alternatives, double weight) {
    const auto found = std::find_if(alternatives.begin(), alternatives.end(), [&](std::string_view question) {
        return question_for(question, ground_).has_value();
    });
    if (found != alternatives.end())
        add(*found, weight);
}

void Questions::add_general(const Situation& situation) {
    double weight = 1;
    add("the full log, from the start of the program: the first error counts, not the last", weight);
    for (const std::string_view key :
         {"gpu", "gfx", "torch", "rocm", "os", "kernel", "container", "python", "driver"}) {
        weight *= 0.9;
        if (situation.find(key) == nullptr)
            add_key(key, weight);
    }
    add_first(ask_kernel_log, 0.3);
    add_first(ask_variables, 0.25);
}

std::vector<std::string> Questions::most_useful_first() {
    std::stable_sort(asked_.begin(), asked_.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    std::vector<std::string> questions;
    questions.reserve(asked_.size());
    for (auto& [question, weight] : asked_)
        questions.push_back(std::move(question));
    return questions;
}

} // namespace rekindle::doctor
