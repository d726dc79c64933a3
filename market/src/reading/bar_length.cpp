#include "reading/bar_length.h"

#include <rekindle/foundation/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace rekindle::market::reading {

namespace {

/// With fewer distances than this, the bar length of a file is not certain.
constexpr std::uint64_t sure_distances = 20;

} // namespace

std::map<std::int64_t, std::uint64_t> DistanceCounter::all() const {
    auto counts = counts_;
    if (run_ > 0)
        counts[current_] += run_;
    return counts;
}

void DistanceCounter::add(const DistanceCounter& other) {
    for (const auto& [distance, times] : other.all())
        count(distance, times);
}

std::int64_t DistanceCounter::most_frequent() const {
    std::int64_t best = 0;
    std::uint64_t best_count = 0;
    for (const auto& [distance, times] : all())
        if (times > best_count) {
            best = distance;
            best_count = times;
        }
    return best;
}

BarSpacing DistanceCounter::spacing() const {
    const auto counts = all();
    const std::vector<std::pair<std::int64_t, std::uint64_t>> pairs(counts.begin(), counts.end());
    return BarSpacing(pairs);
}

std::int64_t stated_bar_length(const std::vector<InputFile>& files) {
    const std::int64_t length = files.front().bar_seconds;
    const bool all =
        std::ranges::all_of(files, [&](const InputFile& file) { return file.bar_seconds == length; });
    return all ? length : 0;
}

void require_one_bar_length(const std::vector<InputFile>& files,
                            const std::vector<DistanceCounter>& counters) {
    const InputFile* first = nullptr;
    BarLength length;
    for (std::size_t i = 0; i < counters.size(); ++i) {
        const BarSpacing spacing = counters[i].spacing();
        const BarLength own = BarLength::of(spacing);
        if (spacing.total() < sure_distances || !own.is_regular())
            continue;
        if (!first) {
            first = &files[i];
            length = own;
        } else if (has_length(spacing, length) == SameLength::no) {
            throw usage_error(fmt::format("bars of different lengths: {} has bars of {}, {} of {}",
                                          first->path.string(), bar_length_text(length.seconds),
                                          files[i].path.string(), bar_length_text(own.seconds)))
                .expected("files with bars of one length")
                .hint("Read the files separately.");
        }
    }
}

} // namespace rekindle::market::reading
