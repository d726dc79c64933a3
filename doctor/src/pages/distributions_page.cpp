#include "facts/versions.h"
#include "pages/markdown.h"

#include <rekindle/doctor/pages.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace rekindle::doctor {
namespace {

// What the wheel torch_rvk needs (pytorch/README.md).
constexpr std::string_view needed_glibc = "2.35";
constexpr std::string_view needed_python = "3.10";
constexpr std::string_view needed_vulkan = "1.3";
constexpr std::string_view mesa_with_it = "22.3"; ///< docs/pytorch-versions.md: measured with 22.3.6

/// "yes", "no: …" or "unknown: …".
std::string wheel_runs(const Distribution& distribution) {
    std::vector<std::string> too_old;
    std::vector<std::string> unknown;
    const auto require = [&](std::string_view what, const std::string& has, std::string_view needs) {
        if (has.empty())
            unknown.push_back(std::string(what));
        else if (compare_versions(has, needs) < 0)
            too_old.push_back(fmt::format("{} {}", what, has));
    };
    require("glibc", distribution.glibc, needed_glibc);
    require("Python", distribution.python, needed_python);
    if (distribution.vulkan.empty())
        require("Mesa", distribution.mesa, mesa_with_it);
    else
        require("Vulkan", distribution.vulkan, needed_vulkan);
    if (!too_old.empty())
        return fmt::format("no: {}", fmt::join(too_old, ", "));
    return unknown.empty() ? "yes" : fmt::format("unknown: {} not recorded", fmt::join(unknown, ", "));
}

std::string recorded(const std::string& text) {
    return text.empty() ? "not recorded" : cell(text);
}

std::string newest_check(const Knowledge& knowledge) {
    std::string newest;
    for (const Distribution& distribution : knowledge.distributions)
        newest = std::max(newest, distribution.checked);
    return newest;
}

} // namespace

std::map<std::string, std::string> committed_knowledge_pages(const Knowledge& knowledge) {
    std::string page = fmt::format(
        "<!-- Made from knowledge/distributions.yaml by `rekindle generate-docs`; edit the YAML. -->\n\n"
        "# Linux distributions\n\nWhat releases ship for training on a GPU. The last column says whether the "
        "wheel torch_rvk runs there as far as glibc ({} or newer), Python ({} or newer) and RADV's Vulkan "
        "({} "
        "or newer) are concerned. What no source says is marked \"not recorded\". Checked on {}; the sources "
        "below give the dates of older copies.\n\n"
        "| Distribution | Kernel | Mesa (RADV) | Vulkan | ROCm packages | NVIDIA packages | Python | glibc | "
        "torch_rvk |\n|---|---|---|---|---|---|---|---|---|\n",
        needed_glibc, needed_python, needed_vulkan, newest_check(knowledge));
    for (const Distribution& one : knowledge.distributions)
        page +=
            fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", cell(one.name),
                        recorded(one.kernel), recorded(one.mesa), recorded(one.vulkan), recorded(one.rocm),
                        recorded(one.nvidia), recorded(one.python), recorded(one.glibc), wheel_runs(one));
    for (const Distribution& one : knowledge.distributions)
        page += fmt::format("\n## {}\n\n{}{}", prose(one.name),
                            one.note.empty() ? "" : prose(one.note) + "\n\n", evidence(one));
    return {{"reference/distributions.md", page}};
}

} // namespace rekindle::doctor
