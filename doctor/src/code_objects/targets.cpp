#include "code_objects/targets.h"

#include <rekindle/base/text.h>
#include <rekindle/doctor/code_objects.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rekindle::doctor {

namespace {

constexpr std::size_t max_targets = 1000;
constexpr std::size_t max_notes = 6;

struct Machine {
    std::uint8_t flag;
    std::string_view target;
};

// EF_AMDGPU_MACH_* of LLVM's ELF.h and AMDGPUUsage, "EF_AMDGPU_MACH Values".
constexpr std::array machines = std::to_array<Machine>({
    {0x28, "gfx801"},         {0x29, "gfx802"},       {0x2a, "gfx803"},          {0x2b, "gfx810"},
    {0x2c, "gfx900"},         {0x2d, "gfx902"},       {0x2e, "gfx904"},          {0x2f, "gfx906"},
    {0x30, "gfx908"},         {0x31, "gfx909"},       {0x32, "gfx90c"},          {0x33, "gfx1010"},
    {0x34, "gfx1011"},        {0x35, "gfx1012"},      {0x36, "gfx1030"},         {0x37, "gfx1031"},
    {0x38, "gfx1032"},        {0x39, "gfx1033"},      {0x3c, "gfx805"},          {0x3d, "gfx1035"},
    {0x3e, "gfx1034"},        {0x3f, "gfx90a"},       {0x40, "gfx940"},          {0x41, "gfx1100"},
    {0x42, "gfx1013"},        {0x43, "gfx1150"},      {0x44, "gfx1103"},         {0x45, "gfx1036"},
    {0x46, "gfx1101"},        {0x47, "gfx1102"},      {0x48, "gfx1200"},         {0x49, "gfx1250"},
    {0x4a, "gfx1151"},        {0x4b, "gfx941"},       {0x4c, "gfx942"},          {0x4e, "gfx1201"},
    {0x4f, "gfx950"},         {0x51, "gfx9-generic"}, {0x52, "gfx10-1-generic"}, {0x53, "gfx10-3-generic"},
    {0x54, "gfx11-generic"},  {0x55, "gfx1152"},      {0x58, "gfx1153"},         {0x59, "gfx12-generic"},
    {0x5f, "gfx9-4-generic"},
});

std::string_view machine_name(std::uint32_t flags) {
    const auto found = std::ranges::find(machines, static_cast<std::uint8_t>(flags & 0xff), &Machine::flag);
    return found == machines.end() ? std::string_view{} : found->target;
}

} // namespace

std::string gfx_of_kfd_version(int version) {
    const int major = version / 10'000, minor = version / 100 % 100, step = version % 100;
    if (version <= 0 || major > 99 || minor > 15 || step > 15)
        return {};
    return fmt::format("gfx{}{:x}{:x}", major, minor, step);
}

std::string gfx_of_elf_flags(std::uint32_t flags) {
    return std::string(machine_name(flags));
}

std::string target_of_elf_flags(std::uint32_t flags, std::uint8_t abi_version) {
    std::string target(machine_name(flags));
    if (target.empty() || abi_version < 1)
        return target;
    if (abi_version == 1) { // only "on" can be represented
        if (flags & 0x200)
            target += ":sramecc+";
        if (flags & 0x100)
            target += ":xnack+";
        return target;
    }
    if ((flags & 0xc00) == 0x800)
        target += ":sramecc-";
    else if ((flags & 0xc00) == 0xc00)
        target += ":sramecc+";
    if ((flags & 0x300) == 0x200)
        target += ":xnack-";
    else if ((flags & 0x300) == 0x300)
        target += ":xnack+";
    return target;
}

std::string target_of_bundle_id(std::string_view id) {
    if (id.starts_with("host-"))
        return {};
    // "hipv4-amdgcn-amd-amdhsa--gfx1100", "openmp-amdgcn-amd-amdhsa-gfx906";
    // "hip-spirv64-amd-amdhsa--amdgcnspirv".
    if (const std::size_t at = id.find("-gfx"); at != std::string_view::npos)
        return std::string(id.substr(at + 1));
    if (const std::size_t at = id.rfind("--"); at != std::string_view::npos && at + 2 < id.size())
        return std::string(id.substr(at + 2));
    return std::string(id);
}

bool same_target(std::string_view a, std::string_view b) {
    auto parts_a = split(a, ':'), parts_b = split(b, ':');
    std::ranges::sort(parts_a);
    std::ranges::sort(parts_b);
    return parts_a == parts_b;
}

std::string_view known_target_prefix(std::string_view text) {
    std::string_view longest;
    for (const Machine& machine : machines)
        if (text.starts_with(machine.target) && machine.target.size() > longest.size())
            longest = machine.target;
    return longest;
}

bool time_is_up(const std::optional<std::chrono::steady_clock::time_point>& deadline) {
    return deadline && std::chrono::steady_clock::now() >= *deadline;
}

void TargetCollector::add(std::string target, std::uint64_t bytes) {
    std::ranges::replace_if(
        target, [](char c) { return c < ' ' || c > '~'; }, '?');
    const auto found = bytes_.find(target);
    if (found != bytes_.end())
        found->second += std::min(bytes, UINT64_MAX - found->second);
    else if (bytes_.size() < max_targets)
        bytes_.emplace(std::move(target), bytes);
    else
        note("more than 1,000 different targets");
}

void TargetCollector::note(std::string text) {
    if (std::ranges::find(notes_, text) != notes_.end())
        return;
    if (notes_.size() < max_notes)
        notes_.push_back(std::move(text));
    else
        ++more_notes_;
}

LibraryTargets TargetCollector::finish(std::string path, std::string part) const {
    LibraryTargets library;
    library.path = std::move(path);
    library.part = std::move(part);
    library.bytes = bytes_;
    for (const auto& [target, bytes] : bytes_)
        if (bytes > 0)
            library.targets.push_back(target);
    library.unread = fmt::format("{}", fmt::join(notes_, "; "));
    if (more_notes_ > 0)
        library.unread += "; and " + counted(more_notes_, "more problem");
    return library;
}

} // namespace rekindle::doctor
