#include "claims.h"

#include <algorithm>
#include <map>
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

struct ClaimFinder::Patterns {
    struct Pattern {
        const Claim* claim;
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

    explicit Patterns(const Knowledge& knowledge) {
        for (const Claim& claim : knowledge.claims)
            for (const std::string& text : claim.patterns)
                if (auto expression = std::make_unique<RE2>(text, claim_options()); expression->ok())
                    patterns.push_back({&claim, std::move(expression)});
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

/// Whether the block or its heading mentions one of the subjects that the claim needs there.
bool is_under(const Claim& claim, const std::string& text, const std::string& heading) {
    return claim.under.empty() || std::ranges::any_of(claim.under, [&](const std::string& pattern) {
               const RE2 expression(pattern, claim_options());
               return RE2::PartialMatch(text, expression) || RE2::PartialMatch(heading, expression);
           });
}

} // namespace

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
    : patterns_(std::make_unique<Patterns>(knowledge)), knowledge_(knowledge) {}
ClaimFinder::~ClaimFinder() = default;

ClaimFinder::Scope ClaimFinder::scope_of(std::string_view document) const {
    std::map<std::string_view, bool> spoken_of; // many claims have the same subject
    const auto speaks_of = [&](const std::string& subject) {
        const auto [known, added] = spoken_of.try_emplace(subject);
        if (added)
            known->second =
                RE2::PartialMatch({document.data(), document.size()}, RE2(subject, claim_options()));
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
        const auto& [claim, expression] = patterns_->patterns[index];
        // The scope is sorted by address: its claims keep the knowledge's order.
        if (!std::binary_search(scope.begin(), scope.end(), claim) || !is_under(*claim, block.text, heading))
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
        if (const Claim* claim = patterns_->patterns[index].claim; claims.empty() || claims.back() != claim)
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
