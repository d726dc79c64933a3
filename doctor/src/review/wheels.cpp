#include "wheels.h"

#include <fmt/format.h>

#include <algorithm>

namespace rekindle::doctor {
namespace {

/// How many versions are named; of a longer list only the first and last.
constexpr std::size_t named_limit = 6;

std::vector<const WheelIndex*> indexes_with(const VersionPattern& torch, const Knowledge& knowledge,
                                            std::string_view kind) {
    std::vector<const WheelIndex*> with;
    for (const WheelIndex& index : knowledge.indexes)
        if (index.kind == kind &&
            std::any_of(index.releases.begin(), index.releases.end(),
                        [&](const auto& release) { return torch.matches(release.torch); }))
            with.push_back(&index);
    return with;
}

std::vector<std::string> ids_of(const std::vector<const WheelIndex*>& indexes) {
    std::vector<std::string> ids;
    ids.reserve(indexes.size());
    for (const WheelIndex* index : indexes)
        ids.push_back(index->id);
    if (ids.size() > named_limit)
        ids.erase(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(named_limit));
    return ids;
}

std::string releases_of(const WheelIndex& index) {
    std::vector<std::string> names;
    names.reserve(index.releases.size());
    for (const WheelIndex::Release& release : index.releases)
        names.push_back(release.torch);
    if (names.empty())
        return "no recorded releases";
    if (names.size() > named_limit)
        return fmt::format("torch {} to {}", names.front(), names.back());
    return "torch " + list_of(names);
}

/// "; it is on rocm6.1 and rocm6.2", or the text for when it is on no index.
std::string where_it_is(const VersionPattern& torch, const Knowledge& knowledge, std::string_view kind) {
    const std::vector<const WheelIndex*> with = indexes_with(torch, knowledge, kind);
    if (!with.empty())
        return fmt::format("torch {} is on {}", torch.text, list_of(ids_of(with)));
    return fmt::format("no recorded {} index has torch {}", kind == "rocm" ? "ROCm" : kind, torch.text);
}

std::string_view kind_of_id(std::string_view id) {
    return id.starts_with("rocm") || id == "therock" ? "rocm" : id == "cpu" ? "cpu" : "cuda";
}

std::vector<Backing> evidence_of_index(const Knowledge& knowledge, std::string_view kind) {
    for (const WheelIndex& index : knowledge.indexes)
        if (index.kind == kind)
            return index.evidence;
    return {};
}

Judgment wheel_exists(const WheelIndex& index, const VersionPattern& torch) {
    std::string pythons;
    for (const WheelIndex::Release& release : index.releases)
        if (torch.matches(release.torch) && !release.python.empty())
            pythons = fmt::format(", for Python {}", list_of(release.python));
    return {Verdict::holds, fmt::format("torch {} is on the index {}{}.", torch.text, index.id, pythons),
            index.evidence};
}

/// Indexes whose ROCm is the one that a text means: the same number if there is one, else one that begins
/// with it.
std::vector<const WheelIndex*> indexes_of_rocm(const VersionPattern& rocm, const Knowledge& knowledge) {
    std::vector<const WheelIndex*> exact;
    std::vector<const WheelIndex*> alike;
    for (const WheelIndex& index : knowledge.indexes) {
        if (index.kind != "rocm" || index.rocm.empty() || index.device_packages)
            continue;
        if (!rocm.or_later && version_numbers(index.rocm) == rocm.numbers)
            exact.push_back(&index);
        if (rocm.overlaps(index.rocm))
            alike.push_back(&index);
    }
    return exact.empty() ? alike : exact;
}

const ContainerImage* image_with(const VersionPattern& torch, const VersionPattern& rocm,
                                 const Knowledge& knowledge) {
    const auto fits = [&](const ContainerImage& image) {
        return !image.rocm.empty() && !image.torch.empty() && rocm.overlaps(image.rocm) &&
               torch.matches(image.torch);
    };
    const auto found = std::find_if(knowledge.images.begin(), knowledge.images.end(), fits);
    return found == knowledge.images.end() ? nullptr : &*found;
}

} // namespace

std::string list_of(const std::vector<std::string>& words) {
    std::string text;
    for (std::size_t i = 0; i < words.size(); ++i)
        text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
    return text;
}

Judgment judge_wheel(const VersionPattern& torch, std::string_view id, const Knowledge& knowledge) {
    const WheelIndex* index = knowledge.index(id);
    const std::string_view kind = kind_of_id(id);
    if (index == nullptr && (id.starts_with("rocm") || id.starts_with("cu")))
        return {Verdict::wrong,
                fmt::format("PyTorch has no index {}; {}.", id, where_it_is(torch, knowledge, kind)),
                evidence_of_index(knowledge, kind)};
    if (index == nullptr)
        return {Verdict::unknown, fmt::format("The index {} is not recorded.", id), {}};
    for (const WheelIndex::Release& release : index->releases)
        if (torch.matches(release.torch))
            return wheel_exists(*index, torch);
    if (index->releases.empty())
        return {Verdict::unknown, fmt::format("The torch releases on the index {} were not recorded.", id),
                index->evidence};
    return {Verdict::wrong,
            fmt::format("No such pair exists: {}; the index {} has {}.", where_it_is(torch, knowledge, kind),
                        id, releases_of(*index)),
            index->evidence};
}

Judgment judge_pair(const VersionPattern& torch, const VersionPattern& rocm, const Knowledge& knowledge) {
    const std::vector<const WheelIndex*> indexes = indexes_of_rocm(rocm, knowledge);
    for (const WheelIndex* index : indexes)
        for (const WheelIndex::Release& release : index->releases)
            if (torch.matches(release.torch))
                return wheel_exists(*index, torch);
    if (const ContainerImage* image = image_with(torch, rocm, knowledge))
        return {
            Verdict::holds,
            fmt::format("Not available as a wheel on PyTorch's indexes, but as AMD's image {}.", image->tag),
            image->evidence};
    std::string reason = fmt::format("No official wheel pairs torch {} with ROCm {}: {}", torch.text,
                                     rocm.text, where_it_is(torch, knowledge, "rocm"));
    if (indexes.size() == 1)
        reason += fmt::format("; the index {} has {}", indexes.front()->id, releases_of(*indexes.front()));
    reason += ". A wheel does not use /opt/rocm.";
    return {Verdict::wrong, reason,
            indexes.empty() ? evidence_of_index(knowledge, "rocm") : indexes.front()->evidence};
}

} // namespace rekindle::doctor
