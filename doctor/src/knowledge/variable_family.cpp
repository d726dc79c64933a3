#include <rekindle/doctor/knowledge.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace rekindle::doctor {
namespace {

constexpr std::size_t similar_limit = 2;

/// The edit distance: how many characters have to be inserted, removed or replaced to turn one name into the
/// other.
std::size_t edit_distance(std::string_view from, std::string_view to) {
    std::vector<std::size_t> row(to.size() + 1);
    for (std::size_t i = 0; i < row.size(); ++i)
        row[i] = i;
    for (std::size_t i = 0; i < from.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < to.size(); ++j) {
            const std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
        }
    }
    return row.back();
}

std::string_view first_word(std::string_view text) {
    return text.substr(0, text.find('_'));
}

} // namespace

bool VariableFamily::contains(std::string_view name) const {
    return std::ranges::any_of(names, [&](std::string_view known) {
        if (!known.ends_with('*'))
            return known == name;
        known.remove_suffix(1);
        return name.starts_with(known);
    });
}

bool VariableFamily::has_misspelling(std::string_view name) const {
    constexpr std::size_t long_name = 10;
    const std::size_t slip = name.size() >= prefix.size() + long_name ? 2 : 1; // CUDA_BATCH is not CUDA_ARCH
    return !contains(name) && std::ranges::any_of(names, [&](const std::string& known) {
        return known.size() + slip >= name.size() && name.size() + slip >= known.size() &&
               edit_distance(name, known) <= slip;
    });
}

std::vector<std::string> VariableFamily::similar_to(std::string_view name) const {
    const std::string_view own = name.substr(std::min(prefix.size(), name.size()));
    const std::size_t close = own.size() / 4 + 1;
    std::vector<std::pair<std::size_t, std::string_view>> near;
    for (const std::string& known : names) {
        if (known.ends_with('*'))
            continue;
        const std::string_view rest = std::string_view(known).substr(prefix.size());
        const std::size_t distance = edit_distance(own, rest);
        const bool same_subject = first_word(own) == first_word(rest) && first_word(own).size() > 2;
        if (distance <= close || (same_subject && distance * 3 <= own.size() * 2))
            near.emplace_back(distance, known);
    }
    std::ranges::stable_sort(near, {}, &std::pair<std::size_t, std::string_view>::first);
    std::vector<std::string> similar;
    for (const auto& [distance, known] : near)
        if (similar.size() < similar_limit && (similar.empty() || distance <= near.front().first + 2))
            similar.emplace_back(known);
    return similar;
}

} // namespace rekindle::doctor
