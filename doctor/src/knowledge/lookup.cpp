#include "gfx_names.h"

#include <rekindle/base/text.h>
#include <rekindle/doctor/knowledge.h>

#include <algorithm>

namespace rekindle::doctor {
namespace {

template <class T>
const T* find_named(const std::vector<T>& entries, std::string T::*name, std::string_view value) {
    const auto found =
        std::find_if(entries.begin(), entries.end(), [&](const T& entry) { return entry.*name == value; });
    return found == entries.end() ? nullptr : &*found;
}

// The standard library's versions consult the locale for every character, which is slow for thousands of
// names.
constexpr char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

constexpr bool is_word(char c) {
    return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9');
}

std::string lowered(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(), lower);
    return result;
}

/// Keeps letters and digits, everything else becomes one space: "RX-7900 XT [Navi 31]" → "rx 7900 xt navi
/// 31".
std::string words_of(std::string_view text) {
    std::string words;
    words.reserve(text.size());
    for (const char c : text) {
        if (is_word(c))
            words += lower(c);
        else if (!words.empty() && words.back() != ' ')
            words += ' ';
    }
    if (!words.empty() && words.back() == ' ')
        words.pop_back();
    return words;
}

/// Whether the words before a position end in one of NVIDIA's series: "GTX 780M" is not the Radeon "780M".
bool follows_other_series(std::string_view before) {
    return before.ends_with("gtx ") || before.ends_with("rtx ") || before.ends_with("geforce ");
}

/// Whether `part` is in `text` with no letter or digit next to it: "rx 7900 xt" is not in "rx 7900 xtx".
bool contains_words(std::string_view text, std::string_view part) {
    if (part.empty())
        return false;
    const bool bare_number = part.front() >= '0' && part.front() <= '9';
    for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
        const std::size_t end = at + part.size();
        if ((at == 0 || text[at - 1] == ' ') && (end == text.size() || text[end] == ' ') &&
            !(bare_number && follows_other_series(text.substr(0, at))))
            return true;
    }
    return false;
}

/// People omit the brand: "RX 7900 XT", "RTX 3090". For very short names ("NVIDIA T4", "Radeon VII") the
/// brand is required.
std::string_view without_short_brand(std::string_view name) {
    constexpr std::size_t shortest = 4;
    for (const std::string_view brand : {"radeon ", "geforce ", "instinct ", "nvidia ", "intel "})
        if (name.starts_with(brand) && name.size() >= brand.size() + shortest)
            return name.substr(brand.size());
    return name;
}

bool contains(const std::vector<std::string>& list, std::string_view item) {
    return std::find(list.begin(), list.end(), item) != list.end();
}

} // namespace

const std::vector<std::string>& WheelIndex::targets_of(std::string_view torch) const {
    const auto found = std::find_if(releases.begin(), releases.end(),
                                    [&](const Release& release) { return release.torch == torch; });
    return found == releases.end() || found->targets.empty() ? targets : found->targets;
}

bool WheelIndex::has_wheels_on(std::string_view system, std::string_view target) const {
    if (!systems.empty() && !contains(systems, system))
        return false;
    return system != "windows" || !contains(linux_only, target);
}

bool WheelIndex::untested_on(std::string_view system, std::string_view target) const {
    return contains(system == "windows" ? untested_windows : untested_linux, target);
}

const GfxTarget* Knowledge::gfx(std::string_view name) const {
    return find_named<GfxTarget>(gfx_targets, &GfxTarget::name, parse_target(lowered(name)).name);
}

bool Knowledge::is_integrated(std::string_view gfx_name) const {
    const GfxTarget* target = gfx(gfx_name);
    return target != nullptr && target->integrated;
}

const GpuModel* Knowledge::gpu(std::string_view pci_id, std::string_view revision) const {
    const std::string id = lowered(pci_id);
    const std::string with_revision = id + ":" + lowered(revision);
    const GpuModel* any_revision = nullptr;
    for (const GpuModel& model : gpus) {
        for (const std::string& known : model.pci) {
            if (!revision.empty() && known == with_revision)
                return &model;
            if (known == id && any_revision == nullptr)
                any_revision = &model;
        }
    }
    return any_revision;
}

const GpuModel* Knowledge::gpu_named(std::string_view text) const {
    const std::string words = words_of(text);
    const GpuModel* best = nullptr;
    std::size_t longest = 0;
    for (const GpuModel& model : gpus) {
        const std::string full = words_of(model.name);
        const std::string_view name = without_short_brand(full);
        if (name.size() > longest && contains_words(words, name)) {
            best = &model;
            longest = name.size();
        }
    }
    return best;
}

const TorchRelease* Knowledge::torch_release(std::string_view torch) const {
    return find_named<TorchRelease>(torch_releases, &TorchRelease::torch, torch.substr(0, torch.find('+')));
}

const WheelIndex* Knowledge::index(std::string_view id) const {
    return find_named<WheelIndex>(indexes, &WheelIndex::id, id);
}

const Cause* Knowledge::cause(std::string_view slug) const {
    return find_named<Cause>(causes, &Cause::slug, slug);
}

const Signature* Knowledge::signature(std::string_view id) const {
    return find_named<Signature>(signatures, &Signature::id, id);
}

const EnvironmentVariable* Knowledge::variable(std::string_view name) const {
    const EnvironmentVariable* best = nullptr;
    for (const EnvironmentVariable& variable : variables) {
        std::string_view pattern = variable.name;
        if (pattern == name)
            return &variable;
        if (!pattern.ends_with('*'))
            continue;
        pattern.remove_suffix(1);
        if (name.starts_with(pattern) && (best == nullptr || variable.name.size() > best->name.size()))
            best = &variable;
    }
    return best;
}

const VariableFamily* Knowledge::variable_family(std::string_view name) const {
    const auto begins = [&](const VariableFamily& family) { return name.starts_with(family.prefix); };
    const auto found = std::ranges::find_if(variable_families, begins);
    return found == variable_families.end() ? nullptr : &*found;
}

const Remedy* Knowledge::remedy(std::string_view id) const {
    return find_named<Remedy>(remedies, &Remedy::id, id);
}

bool Knowledge::covers(std::string_view target, std::string_view gfx) const {
    const TargetName code = parse_target(target);
    const TargetName device = parse_target(gfx);
    if (code.name.starts_with("sm_") || code.name.starts_with("compute_"))
        return cuda_code_runs_on(code.name, device.name);
    if (features_contradict(code, device))
        return false;
    if (code.name == device.name)
        return !code.name.empty();
    const GfxTarget* known = this->gfx(device.name);
    return known != nullptr && !known->generic.empty() && known->generic == code.name;
}

bool Knowledge::covers(const std::vector<std::string>& targets, std::string_view gfx) const {
    return std::any_of(targets.begin(), targets.end(),
                       [&](const std::string& target) { return covers(target, gfx); });
}

} // namespace rekindle::doctor
