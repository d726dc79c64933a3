#include "claims.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <mutex>
#include <re2/re2.h>
#include <re2/set.h>

namespace rekindle::doctor {
namespace {

/// Number of patterns that share one automaton: more would give it too many states.
constexpr std::size_t set_size = 24;

RE2::Options claim_options() {
    RE2::Options options;
    options.set_case_sensitive(false);
    options.set_log_errors(false);
    return options;
}

} // namespace

/// The compiled expressions of all claims. Identifies claims by index, so that every Knowledge object with
/// the same expressions can use it. Immutable; threads may share it.
struct ClaimFinder::Patterns {
    struct Pattern {
        std::size_t claim; ///< index in Knowledge::claims
        std::unique_ptr<RE2> expression;
    };
    /// Finds in one pass which of its patterns match at all.
    struct Group {
        std::size_t first = 0;
        std::size_t count = 0;
        std::unique_ptr<RE2::Set> set;
    };

    std::vector<Pattern> patterns;
    std::vector<Group> groups;
    std::map<std::string, RE2> subjects; ///< the expressions of Claim::about and Claim::under, by their text

    explicit Patterns(const Knowledge& knowledge) {
        for (std::size_t number = 0; number < knowledge.claims.size(); ++number) {
            const Claim& claim = knowledge.claims[number];
            for (const std::string& text : claim.patterns)
                if (auto expression = std::make_unique<RE2>(text, claim_options()); expression->ok())
                    patterns.push_back({number, std::move(expression)});
            for (const auto* const texts : {&claim.about, &claim.under})
                for (const std::string& text : *texts)
                    subjects.try_emplace(text, text, claim_options());
        }
        for (std::size_t first = 0; first < patterns.size(); first += set_size)
            groups.push_back(make_group(first, std::min(set_size, patterns.size() - first)));
    }

    Group make_group(std::size_t first, std::size_t count) const {
        Group group{first, count, std::make_unique<RE2::Set>(claim_options(), RE2::UNANCHORED)};
        for (std::size_t i = first; i < first + count; ++i)
            group.set->Add(patterns[i].expression->pattern(), nullptr);
        if (!group.set->Compile())
            group.set.reset();
        return group;
    }

    bool speaks_of(std::string_view text, const std::string& subject) const {
        return RE2::PartialMatch({text.data(), text.size()}, subjects.at(subject));
    }

    /// The patterns that match the text, ascending.
    std::vector<std::size_t> matching(std::string_view text) const {
        std::vector<std::size_t> all;
        std::vector<int> some;
        for (const Group& group : groups) {
            some.clear();
            RE2::Set::ErrorInfo problem{};
            if (group.set != nullptr && group.set->Match({text.data(), text.size()}, &some, &problem)) {
                for (const int i : some)
                    all.push_back(group.first + static_cast<std::size_t>(i));
            } else if (group.set == nullptr || problem.kind != RE2::Set::kNoError) {
                for (std::size_t i = group.first; i < group.first + group.count;
                     ++i) // matching one by one needs less memory
                    if (RE2::PartialMatch({text.data(), text.size()}, *patterns[i].expression))
                        all.push_back(i);
            }
        }
        std::sort(all.begin(), all.end());
        return all;
    }
};

namespace {

/// The texts of all expressions: for each claim, its patterns, `about`, and `under`.
using Expressions = std::vector<std::array<std::vector<std::string>, 3>>;

Expressions expressions_of(const Knowledge& knowledge) {
    Expressions all;
    for (const Claim& claim : knowledge.claims)
        all.push_back({claim.patterns, claim.about, claim.under});
    return all;
}

} // namespace

/// Compiling takes much longer than searching a typical document, so this keeps the results for the last four
/// different sets of expressions.
std::shared_ptr<const ClaimFinder::Patterns> ClaimFinder::patterns_of(const Knowledge& knowledge) {
    constexpr std::size_t most_kept = 4;
    static std::mutex mutex;
    static std::deque<std::pair<Expressions, std::shared_ptr<const Patterns>>> kept;
    Expressions expressions = expressions_of(knowledge);
    const std::scoped_lock lock(mutex);
    const auto same =
        std::ranges::find(kept, expressions, [](const auto& one) -> const auto& { return one.first; });
    if (same != kept.end())
        return same->second;
    auto patterns = std::make_shared<const Patterns>(knowledge);
    kept.emplace_back(std::move(expressions), patterns);
    if (kept.size() > most_kept)
        kept.pop_front();
    return patterns;
}

bool is_denied(std::string_view text, std::size_t begin, std::size_t end) {
    static const RE2 before("(?i)\\b(not true|n't true|untrue|myths?|misconceptions?|contrary "
                            "to|debunk\\w*|wrongly|false(ly)?|incorrect(ly)?)\\b");
    static const RE2 after(
        "(?i)^[^.!?]{0,80}\\b(is|are|was|were) (false|wrong|untrue|incorrect|not true|a myth|mistaken)\\b");
    const auto stop = [&](std::size_t at) {
        return text[at] == '!' || text[at] == '?' ||
               (text[at] == '.' && (at + 1 == text.size() || text[at + 1] == ' '));
    };
    std::size_t first = begin;
    while (first > 0 && !stop(first - 1))
        --first;
    const std::string_view said = text.substr(first, begin - first);
    const std::string_view rest = text.substr(end);
    return RE2::PartialMatch({said.data(), said.size()}, before) ||
           RE2::PartialMatch({rest.data(), rest.size()}, after);
}

ClaimFinder::ClaimFinder(const Knowledge& knowledge)
    : patterns_(patterns_of(knowledge)), knowledge_(knowledge) {}
ClaimFinder::~ClaimFinder() = default;

ClaimFinder::Scope ClaimFinder::scope_of(std::string_view document) const {
    std::map<std::string_view, bool> spoken_of; // many claims have the same subject
    const auto speaks_of = [&](const std::string& subject) {
        const auto [known, added] = spoken_of.try_emplace(subject);
        if (added)
            known->second = patterns_->speaks_of(document, subject);
        return known->second;
    };
    Scope scope;
    for (const Claim& claim : knowledge_.claims)
        if (claim.about.empty() || std::any_of(claim.about.begin(), claim.about.end(), speaks_of))
            scope.push_back(&claim);
    return scope;
}

void ClaimFinder::mark_claims(const Block& block, const std::string& heading, const ContainerLines& container,
                              const Scope& scope, std::vector<Found>& found) const {
    const re2::StringPiece text(block.text);
    const Claim* last_claim = nullptr;
    std::vector<std::size_t> marked_lines;
    for (const std::size_t index : patterns_->matching(block.text)) {
        const auto& [number, expression] = patterns_->patterns[index];
        const Claim* const claim = &knowledge_.claims[number];
        const auto mentioned = [&](const std::string& subject) {
            return patterns_->speaks_of(block.text, subject) || patterns_->speaks_of(heading, subject);
        };
        // The scope is sorted by address: its claims keep the knowledge's order.
        if (!std::binary_search(scope.begin(), scope.end(), claim) ||
            !(claim->under.empty() || std::ranges::any_of(claim->under, mentioned)))
            continue;
        if (claim != last_claim)
            marked_lines.clear();
        last_claim = claim;
        re2::StringPiece match;
        for (std::size_t at = 0; at < text.size();
             at = std::max(at + 1, static_cast<std::size_t>(match.end() - text.begin()))) {
            if (!expression->Match(text, at, text.size(), RE2::UNANCHORED, &match, 1))
                break;
            const std::size_t begin = static_cast<std::size_t>(match.begin() - text.begin());
            const std::size_t line = block.line_of(begin);
            const bool elsewhere =
                !claim->where.empty() && (claim->where == "container") != container.contains(line);
            if (match.empty() || elsewhere || is_denied(block.text, begin, begin + match.size()) ||
                std::find(marked_lines.begin(), marked_lines.end(), line) != marked_lines.end())
                continue;
            marked_lines.push_back(line);
            mark(block, begin, match.size(), claim->kind.empty() ? "claim" : claim->kind,
                 {verdict_of(*claim), claim->correction, claim->evidence}, found);
        }
    }
}

std::vector<const Claim*> ClaimFinder::in_text(std::string_view text) const {
    std::vector<const Claim*> claims;
    for (const std::size_t index : patterns_->matching(text))
        if (const Claim* const claim = &knowledge_.claims[patterns_->patterns[index].claim];
            claims.empty() || claims.back() != claim)
            claims.push_back(claim);
    return claims;
}

Verdict verdict_of(const Claim& claim) noexcept {
    if (claim.verdict == "true")
        return Verdict::holds;
    if (claim.verdict == "false")
        return Verdict::wrong;
    if (claim.verdict == "harmful")
        return Verdict::harmful;
    return claim.verdict == "no-effect" ? Verdict::no_effect : Verdict::unknown;
}

} // namespace rekindle::doctor
