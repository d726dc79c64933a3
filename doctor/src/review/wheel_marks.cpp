#include "installs.h"
#include "wheels.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>
#include <re2/re2.h>

namespace rekindle::doctor {
namespace {

constexpr std::string_view pair_kind = "version pair";

/// Whether `version` begins with the given numbers: 2.9.1 is a 2.9.
bool is_of(const std::string& version, const std::string& given) {
    const std::vector<long> whole = version_numbers(version);
    const std::vector<long> start = version_numbers(given);
    return start.size() <= whole.size() && std::equal(start.begin(), start.end(), whole.begin());
}

bool any_is_of(const std::vector<std::string>& versions, const std::string& given) {
    return std::any_of(versions.begin(), versions.end(),
                       [&](const std::string& version) { return is_of(version, given); });
}

/// "" if the companion goes with one of the releases, or if nothing is recorded about them.
std::string mistake_of(std::string_view name, const std::string& version, const std::string& torch,
                       const std::vector<const TorchRelease*>& releases,
                       std::vector<std::string> TorchRelease::*companion) {
    if (version_numbers(version).size() < 2 || releases.empty())
        return "";
    for (const TorchRelease* release : releases)
        if (any_is_of(release->*companion, version))
            return "";
    const std::vector<std::string>& right = releases.back()->*companion;
    return fmt::format("{} {} does not belong to torch {}{}.", name, version, torch,
                       right.empty() ? "" : fmt::format(": use {}", right.front()));
}

struct CompanionMistake {
    std::string text; ///< "" for none
    std::vector<Backing> evidence;
};

CompanionMistake companion_mistake(const TorchInstall& install, const Knowledge& knowledge) {
    if (version_numbers(install.torch).size() < 2 || install.or_later)
        return {};
    std::vector<const TorchRelease*> releases;
    for (const TorchRelease& release : knowledge.torch_releases)
        if (is_of(release.torch, install.torch))
            releases.push_back(&release);
    std::string text =
        mistake_of("torchvision", install.vision, install.torch, releases, &TorchRelease::torchvision);
    if (text.empty())
        text = mistake_of("torchaudio", install.audio, install.torch, releases, &TorchRelease::torchaudio);
    return {text, text.empty() ? std::vector<Backing>{} : releases.back()->evidence};
}

/// An install from an index with one package for each gfx.
Judgment judge_device_install(const TorchInstall& install, const WheelIndex& index,
                              const Knowledge& knowledge) {
    if (install.device.empty())
        return {Verdict::wrong,
                "Without the device's package torch can be imported, but has no kernels: specify it, "
                "\"torch[device-gfxNNNN]\".",
                index.evidence};
    if (!knowledge.covers(index.targets, install.device))
        return {Verdict::wrong, fmt::format("The index {} has no package for {}.", index.id, install.device),
                index.evidence};
    return {Verdict::holds, fmt::format("The index {} has torch with code for {}.", index.id, install.device),
            index.evidence};
}

Judgment judge_nightly(std::string_view id, const Knowledge& knowledge) {
    const WheelIndex* stable = knowledge.index(id);
    return {Verdict::unknown,
            fmt::format("Nightly indexes change daily and old ones are emptied: what nightly/{} contains was "
                        "not recorded{}.",
                        id, stable == nullptr ? "" : "; a stable index of that name exists"),
            stable == nullptr ? std::vector<Backing>{} : stable->evidence};
}

Judgment judge_index_install(const TorchInstall& install, const Knowledge& knowledge) {
    const auto named = index_of(install.index, knowledge);
    if (!named)
        return {
            Verdict::unknown, fmt::format("The index {} is not recorded.", printable(install.index, 80)), {}};
    if (named->nightly || named->id == "nightly")
        return judge_nightly(named->id, knowledge);
    const WheelIndex* index = knowledge.index(named->id);
    if (index != nullptr && index->device_packages)
        return judge_device_install(install, *index, knowledge);
    if (!install.local.empty() && install.local != named->id)
        return {Verdict::wrong,
                fmt::format("torch {}+{} is not on the index {}.", install.torch, install.local, named->id),
                index == nullptr ? std::vector<Backing>{} : index->evidence};
    if (const CompanionMistake mistake = companion_mistake(install, knowledge); !mistake.text.empty())
        return {Verdict::wrong, mistake.text, mistake.evidence};
    auto torch = VersionPattern::parse(install.torch);
    if (!torch && index != nullptr && !index->releases.empty())
        return {Verdict::holds, fmt::format("The newest torch there is {}.", index->releases.back().torch),
                index->evidence};
    if (!torch)
        return {Verdict::unknown, fmt::format("The index {} is not recorded.", named->id), {}};
    torch->or_later = install.or_later;
    return judge_wheel(*torch, named->id, knowledge);
}

/// Without --index-url. Has nothing to say about a document about other hardware.
std::optional<Judgment> judge_install_from_pypi(const TorchInstall& install, bool about_amd,
                                                const Knowledge& knowledge) {
    const std::vector<Backing> evidence{
        {"source", "pytorch/pytorch v2.6.0 torch/cuda/__init__.py:310", ""},
        {"documentation", "pytorch.org, Start Locally", "the default wheel for Linux is built for CUDA"}};
    const auto extra = index_of(install.extra_index, knowledge);
    // No ambiguity: PyPI's torch is also built for CUDA, and only this index has versions such
    // as 2.5.1+rocm6.2.
    const bool only_one_fits = extra && (extra->id.starts_with("cu") || !install.local.empty());
    const bool depends_on_a_variable = install.extra_index.find('$') != std::string::npos;
    if (only_one_fits || depends_on_a_variable || (extra && extra->nightly))
        return std::nullopt;
    if (!install.extra_index.empty() && extra)
        return Judgment{
            Verdict::wrong,
            "--extra-index-url still allows PyPI, whose torch is built for CUDA: use --index-url.", evidence};
    if (!install.links.empty() || !about_amd || install.conda || !install.local.empty())
        return std::nullopt;
    return Judgment{Verdict::wrong,
                    "PyPI's torch for Linux is built for CUDA and does not see an AMD GPU: specify an index "
                    "with --index-url.",
                    evidence};
}

bool is_torch_version(std::string_view version) {
    const std::vector<long> numbers = version_numbers(version);
    return numbers.size() >= 2 && numbers[0] >= 1 && numbers[0] < 10;
}

Judgment judge_local_version(const std::string& version, const std::string& index,
                             const Knowledge& knowledge) {
    if (version.find("dev") != std::string::npos || version.find('a') != std::string::npos)
        return judge_nightly(index, knowledge);
    const auto torch = VersionPattern::parse(version);
    return torch ? judge_wheel(*torch, index, knowledge) : Judgment{};
}

bool overlaps_a_pair(const Block& block, std::size_t at, std::size_t size, const std::vector<Found>& found) {
    const std::size_t begin = block.origins[at];
    const std::size_t end = block.origins[at + size - 1] + 1;
    return std::any_of(found.rbegin(), found.rend(), [&](const Found& one) {
        return one.mark.kind == pair_kind && one.begin < end && begin < one.end;
    });
}

std::vector<std::string_view> cells_of(std::string_view row) {
    std::vector<std::string_view> cells = split(row, '|');
    for (std::string_view& cell : cells)
        cell = trim(cell);
    return cells;
}

/// Whether the text before a version names another package than torch, as in "flash_attn-2.6.2+cu123torch2.3"
/// and "xformers==0.0.27+cu121".
bool names_another_package(std::string_view before) {
    static const RE2 package("(?i)([a-z][a-z0-9_]*)(?:-|==|~=|>=|@)$");
    std::string name;
    return RE2::PartialMatch({before.data(), before.size()}, package, &name) && name != "torch" &&
           name != "pytorch";
}

} // namespace

void WheelReview::mark_pairs(const Block& block, bool about_amd, std::vector<Found>& found) {
    std::vector<Found> here;
    mark_installs(block, about_amd, here);
    mark_local_versions(block, here);
    if (block.text.starts_with('|'))
        mark_row(block, here);
    else
        torch_column_ = rocm_column_ = -1;
    mark_prose(block, here);
    std::move(here.begin(), here.end(), std::back_inserter(found));
}

void WheelReview::mark_installs(const Block& block, bool about_amd, std::vector<Found>& found) const {
    for (const TorchInstall& install : torch_installs(block.text)) {
        if (!install.index.empty())
            mark(block, install.at, install.size, pair_kind, judge_index_install(install, knowledge_), found);
        else if (auto judgment = judge_install_from_pypi(install, about_amd, knowledge_))
            mark(block, install.at, install.size, pair_kind, std::move(*judgment), found);
    }
}

void WheelReview::mark_local_versions(const Block& block, std::vector<Found>& found) const {
    static const RE2 local("(?i)((\\d+\\.\\d+(?:\\.[0-9a-z]+)*)\\+((?:rocm|cu)\\d+(?:\\.\\d+)*))");
    re2::StringPiece rest(block.text);
    re2::StringPiece whole;
    std::string version;
    std::string index;
    while (RE2::FindAndConsume(&rest, local, &whole, &version, &index)) {
        const std::size_t at = static_cast<std::size_t>(whole.data() - block.text.data());
        if (is_torch_version(version) && !names_another_package(std::string_view(block.text).substr(0, at)) &&
            !overlaps_a_pair(block, at, whole.size(), found))
            mark(block, at, whole.size(), pair_kind, judge_local_version(version, index, knowledge_), found);
    }
}

void WheelReview::mark_prose(const Block& block, std::vector<Found>& found) const {
    static const RE2 torch_first(
        "(?i)(\\b(?:py)?torch(?: "
        "version)?\\s?(?:==|v|=)?\\s?(\\d+\\.\\d+[0-9.x]*\\+?)\\s?(?:\\+|\\band\\b|\\bwith\\b|\\bfor\\b|"
        "\\bon\\b|/|,|&)\\s?(?:AMD )?ROCm\\s?(?:v|version |>=\\s?|≥\\s?)?(\\d+\\.\\d+(?:\\.\\d+)*\\+?))");
    static const RE2 rocm_first("(?i)(\\bROCm\\s?v?(\\d+\\.\\d+(?:\\.\\d+)*\\+?)(?:-\\d+)?\\s?(?:\\+|"
                                "\\band\\b|\\bwith\\b|/|,|&)\\s?(?:py)?torch\\s?"
                                "(?:==|v)?\\s?(\\d+\\.\\d+[0-9.x]*\\+?))");
    for (const RE2* expression : {&torch_first, &rocm_first}) {
        re2::StringPiece rest(block.text);
        re2::StringPiece whole;
        std::string first;
        std::string second;
        while (RE2::FindAndConsume(&rest, *expression, &whole, &first, &second)) {
            const std::size_t at = static_cast<std::size_t>(whole.data() - block.text.data());
            const auto torch = VersionPattern::parse(expression == &torch_first ? first : second);
            const auto rocm = VersionPattern::parse(expression == &torch_first ? second : first);
            if (torch && rocm && !overlaps_a_pair(block, at, whole.size(), found))
                mark(block, at, whole.size(), pair_kind, judge_pair(*torch, *rocm, knowledge_), found);
        }
    }
}

void WheelReview::mark_row(const Block& block, std::vector<Found>& found) {
    static const RE2 torch_heading("(?i)^(py)?torch( version)?$");
    static const RE2 rocm_heading("(?i)^ROCm( version)?$");
    static const RE2 denial("(?i)(broken|❌|not supported|unsupported|incompatible|fails|does not work)");
    static const RE2 version("v?(\\d+\\.\\d+[0-9.x]*\\+?)");
    const std::vector<std::string_view> cells = cells_of(block.text);
    int torch_heading_at = -1;
    int rocm_heading_at = -1;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const re2::StringPiece cell(cells[i].data(), cells[i].size());
        if (RE2::FullMatch(cell, torch_heading))
            torch_heading_at = static_cast<int>(i);
        if (RE2::FullMatch(cell, rocm_heading))
            rocm_heading_at = static_cast<int>(i);
    }
    if (torch_heading_at >= 0 && rocm_heading_at >= 0) {
        torch_column_ = torch_heading_at;
        rocm_column_ = rocm_heading_at;
        return;
    }
    const auto cell_at = [&](int column) {
        return column >= 0 && static_cast<std::size_t>(column) < cells.size()
                   ? cells[static_cast<std::size_t>(column)]
                   : std::string_view();
    };
    std::string torch_text;
    std::string rocm_text;
    const std::string_view torch_cell = cell_at(torch_column_);
    const std::string_view rocm_cell = cell_at(rocm_column_);
    if (!RE2::FullMatch({torch_cell.data(), torch_cell.size()}, version, &torch_text) ||
        !RE2::FullMatch({rocm_cell.data(), rocm_cell.size()}, version, &rocm_text))
        return;
    const auto torch = VersionPattern::parse(torch_text);
    const auto rocm = VersionPattern::parse(rocm_text);
    if (!torch || !rocm)
        return;
    Judgment judgment = judge_pair(*torch, *rocm, knowledge_);
    if (judgment.verdict == Verdict::holds && RE2::PartialMatch(block.text, denial)) {
        judgment.verdict = Verdict::wrong;
        judgment.reason = "The pair is official. " + judgment.reason;
    }
    mark(block, 0, block.text.size(), pair_kind, std::move(judgment), found);
}

} // namespace rekindle::doctor
