#include "text/needed_texts.h"

#include <algorithm>
#include <numeric>
#include <re2/filtered_re2.h>
#include <re2/re2.h>
#include <utility>

namespace rekindle::doctor {
namespace {

/// Preferred minimum length of a text in bytes. Shorter ones occur in many lines and are used only for
/// patterns that have no longer one.
constexpr int usual_text = 3;
constexpr std::size_t most_groups = 4;

/// What RE2 knows about one pattern: whether it could match, given the texts that a line contains.
class Filter {
  public:
    /// Texts shorter than `shortest` are taken to be in every line. Precondition: the pattern is valid.
    Filter(std::string_view pattern, int shortest) : filter_(shortest) {
        RE2::Options options(RE2::Quiet);
        options.set_case_sensitive(false);
        int number = 0;
        filter_.Add(re2::StringPiece(pattern.data(), pattern.size()), options, &number);
        filter_.Compile(&texts_);
    }

    const std::vector<std::string>& texts() const noexcept { return texts_; }

    bool passes(const std::vector<int>& texts) const {
        std::vector<int> possible;
        filter_.AllPotentials(texts, &possible);
        return !possible.empty();
    }

  private:
    re2::FilteredRE2 filter_;
    std::vector<std::string> texts_;
};

/// The texts of `all` that are not in `some`; both are ascending.
std::vector<int> without(const std::vector<int>& all, const std::vector<int>& some) {
    std::vector<int> rest;
    std::set_difference(all.begin(), all.end(), some.begin(), some.end(), std::back_inserter(rest));
    return rest;
}

/// Finds a minimal group: the pattern needs one of its texts, and none of them can be dropped. Tries to drop
/// one text after the other, first those of earlier groups, then short ones.
std::vector<int> smallest_group(const Filter& filter, const std::vector<int>& all,
                                const std::vector<bool>& used) {
    std::vector<int> order = all;
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
        const auto rank = [&](int text) {
            const auto index = static_cast<std::size_t>(text);
            return std::pair(!used[index], filter.texts()[index].size());
        };
        return rank(a) < rank(b);
    });
    std::vector<int> group = all;
    for (const int text : order) {
        std::vector<int> smaller = without(group, {text});
        if (!filter.passes(without(all, smaller)))
            group = std::move(smaller);
    }
    return group;
}

NeededTexts groups_of(const Filter& filter) {
    std::vector<int> all(filter.texts().size());
    std::iota(all.begin(), all.end(), 0);
    std::vector<bool> used(all.size(), false); // in a group so far
    std::vector<std::vector<int>> groups;
    while (groups.size() < most_groups && !filter.passes({})) {
        std::vector<int> group = smallest_group(filter, all, used);
        if (std::find(groups.begin(), groups.end(), group) != groups.end())
            break;
        for (const int text : group)
            used[static_cast<std::size_t>(text)] = true;
        groups.push_back(std::move(group));
    }
    NeededTexts needed;
    for (const std::vector<int>& group : groups)
        for (std::vector<std::string>& texts = needed.emplace_back(); const int text : group)
            texts.push_back(filter.texts()[static_cast<std::size_t>(text)]);
    return needed;
}

} // namespace

std::optional<NeededTexts> needed_texts(std::string_view pattern) {
    RE2::Options options(RE2::Quiet);
    options.set_case_sensitive(false);
    if (!RE2(re2::StringPiece(pattern.data(), pattern.size()), options).ok())
        return std::nullopt;
    for (const int shortest : {usual_text, 1})
        if (NeededTexts needed = groups_of(Filter(pattern, shortest)); !needed.empty())
            return needed;
    return NeededTexts{};
}

} // namespace rekindle::doctor
