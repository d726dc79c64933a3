#include "support_claims.h"

#include "claims.h"
#include "facts/versions.h"
#include "lines.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <re2/re2.h>
#include <set>

namespace rekindle::doctor {
namespace {

/// A generation of GPUs by its common name.
struct Generation {
    std::string_view pattern;
    std::string_view targets; ///< separated by spaces
};
constexpr std::array<Generation, 16> generations{{{"Maxwell", "sm_50 sm_52"},
                                                  {"Pascal", "sm_60 sm_61"},
                                                  {"Volta", "sm_70"},
                                                  {"Turing", "sm_75"},
                                                  {"Ampere", "sm_80 sm_86"},
                                                  {"Ada(?: Lovelace)?", "sm_89"},
                                                  {"Hopper", "sm_90"},
                                                  {"Blackwell", "sm_100 sm_120"},
                                                  {"Vega ?(?:10|56|64)", "gfx900"},
                                                  {"Vega ?20|Radeon VII", "gfx906"},
                                                  {"Vega", "gfx900 gfx906"},
                                                  {"Navi ?1[0x]", "gfx1010"},
                                                  {"Navi ?2[1x]", "gfx1030"},
                                                  {"Navi ?31", "gfx1100"},
                                                  {"Navi ?4[48x]", "gfx1200 gfx1201"},
                                                  {"Polaris|RX ?5[5-9]0", "gfx803"}}};

enum class Said { removed, added, contains, lacks };

/// What a part of a sentence says about one release and some GPUs.
struct SupportStatement {
    std::string product; ///< "torch", "rocm"
    std::string version;
    Said said = Said::removed;
    std::vector<std::string> targets;
    bool amd = true;
};

/// The releases of one kind that PyTorch's own indexes have, with their targets.
class WheelHistory {
  public:
    WheelHistory(const SupportStatement& statement, const Knowledge& knowledge)
        : knowledge_(knowledge), statement_(statement) {
        for (const WheelIndex& index : knowledge.indexes) {
            if (index.kind != (statement.amd ? "rocm" : "cuda") ||
                index.url.find("download.pytorch.org") == std::string::npos)
                continue;
            if (statement.product == "rocm")
                add(index.rocm, index.targets, index);
            else
                for (const WheelIndex::Release& release : index.releases)
                    add(release.torch, index.targets_of(release.torch), index);
        }
    }

    /// The statement's release: "2.7" is 2.7.0 and 2.7.1.
    bool is_recorded() const { return !named().empty(); }
    /// The one before it; nullptr if it is the first that is recorded.
    const std::string* previous() const {
        const std::string* latest = nullptr;
        for (const auto& [version, targets] : releases_)
            if (!same_release(version, statement_.version) &&
                compare_versions(version, statement_.version) < 0 &&
                (latest == nullptr || compare_versions(version, *latest) > 0))
                latest = &version;
        return latest;
    }
    std::vector<std::string> covered_now() const { return covered(named()); }
    std::vector<std::string> covered_before() const {
        const std::string* version = previous();
        return version == nullptr ? std::vector<std::string>{} : covered({*version});
    }
    bool ever_covered_before() const {
        std::vector<std::string> earlier;
        for (const auto& [version, targets] : releases_)
            if (compare_versions(version, statement_.version) < 0 &&
                !same_release(version, statement_.version))
                earlier.push_back(version);
        return !covered(earlier).empty();
    }
    /// "" if no release has code for the GPUs.
    std::string first_with() const {
        std::string first;
        for (const auto& [version, targets] : releases_)
            if (!covered({version}).empty() && (first.empty() || compare_versions(version, first) < 0))
                first = version;
        return first;
    }
    const std::vector<Backing>& evidence() const { return evidence_; }

  private:
    void add(const std::string& version, const std::vector<std::string>& targets, const WheelIndex& index) {
        if (version.empty() || targets.empty())
            return;
        const auto known =
            std::ranges::find(releases_, version, &std::pair<std::string, std::vector<std::string>>::first);
        auto& all = known == releases_.end()
                        ? releases_.emplace_back(version, std::vector<std::string>{}).second
                        : known->second;
        all.insert(all.end(), targets.begin(), targets.end());
        if (same_release(version, statement_.version))
            evidence_ = index.evidence;
    }
    std::vector<std::string> named() const {
        std::vector<std::string> versions;
        for (const auto& [version, targets] : releases_)
            if (same_release(version, statement_.version))
                versions.push_back(version);
        return versions;
    }
    std::vector<std::string> covered(const std::vector<std::string>& versions) const {
        std::vector<std::string> names;
        for (const std::string& target : statement_.targets)
            for (const auto& [version, targets] : releases_)
                if (std::ranges::find(versions, version) != versions.end() &&
                    knowledge_.covers(targets, target)) {
                    names.push_back(target);
                    break;
                }
        return names;
    }

    const Knowledge& knowledge_;
    const SupportStatement& statement_;
    std::vector<std::pair<std::string, std::vector<std::string>>> releases_;
    std::vector<Backing> evidence_;
};

/// "; AMD's index therock has it", for a target that PyTorch's wheels never had.
std::string where_else(const SupportStatement& statement, const Knowledge& knowledge) {
    for (const WheelIndex& index : knowledge.indexes)
        if (index.url.find("download.pytorch.org") == std::string::npos &&
            std::ranges::all_of(statement.targets, [&](const std::string& target) {
                return knowledge.covers(index.targets, target);
            }))
            return fmt::format("; the index {} has it", index.id);
    return "";
}

bool has_safe_override(const SupportStatement& statement, const Knowledge& knowledge) {
    return std::ranges::any_of(statement.targets, [&](const std::string& name) {
        const GfxTarget* target = knowledge.gfx(name);
        return target != nullptr &&
               std::ranges::any_of(target->overrides,
                                   [](const GfxTarget::Override& one) { return one.verdict == "safe"; });
    });
}

std::optional<Judgment> judge(const SupportStatement& statement, const Knowledge& knowledge) {
    const WheelHistory history(statement, knowledge);
    if (!history.is_recorded())
        return std::nullopt;
    const std::vector<std::string> now = history.covered_now();
    const std::vector<std::string> before = history.covered_before();
    const std::string release =
        fmt::format("{} {}", statement.product == "rocm" ? "ROCm" : "torch", statement.version);
    const std::string wheels = statement.product == "rocm" ? "PyTorch's wheels for ROCm" : "PyTorch's wheels";
    const std::string never = fmt::format("{} never had code for {}", wheels, list_of(statement.targets));
    const auto judged = [&](Verdict verdict, std::string reason) {
        return Judgment{verdict, std::move(reason), history.evidence()};
    };
    const auto all_of = [](const std::vector<std::string>& some, const std::vector<std::string>& in) {
        return std::ranges::includes(std::set(in.begin(), in.end()), std::set(some.begin(), some.end()));
    };
    const std::string first = history.first_with();
    const std::string since = first.empty()
                                  ? never + where_else(statement, knowledge)
                                  : fmt::format("the first with {} is {}", list_of(statement.targets), first);
    switch (statement.said) {
    case Said::removed:
        if (history.previous() == nullptr)
            return std::nullopt;
        if (!history.ever_covered_before() && now.empty())
            return judged(Verdict::wrong, fmt::format("Nothing was removed: {}{}.", never,
                                                      first.empty() ? where_else(statement, knowledge)
                                                                    : fmt::format(" before {}", first)));
        if (!now.empty() && all_of(before, now))
            return judged(Verdict::wrong,
                          fmt::format("The wheels of {} have code for {}.", release, list_of(now)));
        if (!before.empty() && now.empty())
            return judged(Verdict::holds,
                          fmt::format("The wheels of {} have code for {}, those of {} do not.",
                                      *history.previous(), list_of(before), release));
        return std::nullopt;
    case Said::added:
        if (now.empty())
            return judged(Verdict::wrong, fmt::format("The wheels of {} have no code for {}: {}.", release,
                                                      list_of(statement.targets), since));
        if (history.previous() != nullptr && all_of(statement.targets, before))
            return judged(Verdict::wrong, fmt::format("The wheels of {} already had code for {}.",
                                                      *history.previous(), list_of(before)));
        if (history.previous() != nullptr && before.empty())
            return judged(Verdict::holds, fmt::format("The wheels of {} are the first with code for {}.",
                                                      release, list_of(now)));
        return std::nullopt;
    case Said::contains:
        if (now.empty() && !has_safe_override(statement, knowledge))
            return judged(Verdict::wrong, fmt::format("The wheels of {} have no code for {}: {}.", release,
                                                      list_of(statement.targets), since));
        return std::nullopt;
    case Said::lacks:
        if (all_of(statement.targets, now))
            return judged(Verdict::wrong,
                          fmt::format("The wheels of {} have code for {}.", release, list_of(now)));
        return std::nullopt;
    }
    return std::nullopt;
}

/// What the part of a sentence says, if it is about support at all and neither denies, asks nor supposes it.
std::optional<Said> said_in(std::string_view part) {
    static const RE2 lacks("(?i)\\b(does|did|do)( not|n't) (support|contain|include|have|ship)|"
                           "\\bhas no (kernels?|code|support)\\b|\\blacks?\\b");
    static const RE2 removed(
        "(?i)\\b(dropp?(ed|s|ing)|drop|remov(ed|es|ing)|lost|loses?|kill(ed|s)|cut|abandon(ed|s)|"
        "discontinu\\w+|no longer (support|contain|ha[sd]|include|ship|work)\\w*|"
        "(ended|ends|stopped|stops) support\\w*)\\b");
    static const RE2 added(
        "(?i)\\b(add(ed|s)|introduc(ed|es)|gain(ed|s)|(started|starts|began|begins) support\\w*|"
        "first (release |version )?(with|to support))\\b");
    static const RE2 contains(
        "(?i)\\b(contain(s|ed)?|include[sd]?|ships?|shipped|(was|were) still (in|there|supported)|"
        "still (had|has|supported|supports)|has (native )?(kernels|code|wheels)|supports?)\\b");
    static const RE2 open(
        "(?i)\\b(never|nothing|nobody|not|n't|neither|nor|if|whether|will|would|might|may|could|should|"
        "going to|plans?|override|or)\\b|\\?");
    // "introduced breaking changes for gfx1100", "dropped the flash attention of gfx90a": about something
    // else
    static const RE2 feature(
        "(?i)\\b(changes?|bugs?|regress\\w*|requirements?|checks?|warnings?|errors?|workarounds?|optimi[sz]"
        "\\w*|"
        "hipblas\\w*|rocblas|miopen|aotriton|triton|flash|attention|compile|fp8|bf16|fp16)\\b");
    if (RE2::PartialMatch(piece(part), feature))
        return std::nullopt;
    if (RE2::PartialMatch(piece(part), lacks))
        return Said::lacks;
    if (RE2::PartialMatch(piece(part), open))
        return std::nullopt;
    return RE2::PartialMatch(piece(part), removed)    ? std::optional(Said::removed)
           : RE2::PartialMatch(piece(part), added)    ? std::optional(Said::added)
           : RE2::PartialMatch(piece(part), contains) ? std::optional(Said::contains)
                                                      : std::nullopt;
}

/// A part of a sentence: its text and where it begins in the block.
struct Part {
    std::size_t begin = 0;
    std::string_view text;
};

std::vector<Part> parts_of(std::string_view text) {
    static const RE2 boundary("[.;!](?: |$)|\\?|[,:] |, | (?:and|but|so|while|whereas) ");
    std::vector<Part> parts;
    re2::StringPiece rest = piece(text);
    re2::StringPiece mark;
    std::size_t begin = 0;
    while (boundary.Match(rest, 0, rest.size(), RE2::UNANCHORED, &mark, 1)) {
        const std::size_t at = static_cast<std::size_t>(mark.data() - text.data());
        const std::size_t end = mark.starts_with("?") ? at + 1 : at; // a question keeps its mark
        parts.push_back({begin, text.substr(begin, end - begin)});
        begin = at + mark.size();
        rest.remove_prefix(static_cast<std::size_t>(mark.data() - rest.data()) + mark.size());
    }
    parts.push_back({begin, text.substr(begin)});
    return parts;
}

/// The product and version that a part names; a version alone belongs to the product named last.
class Releases {
  public:
    struct Named {
        std::string product;
        std::string version;
    };
    std::vector<Named> in(std::string_view part) {
        static const RE2 product(
            "(?i)\\b((?:py)?torch|rocm|[a-z][a-z0-9.+_-]*)(?:'s)?(?: version| release)? ?(?:v|==|>=|≥)? ?"
            "(\\d+\\.\\d+(?:\\.\\d+)?)(?:\\+|\\b)");
        std::vector<Named> named;
        re2::StringPiece rest = piece(part);
        std::string word;
        std::string version;
        while (RE2::FindAndConsume(&rest, product, &word, &version)) {
            const std::string name = lower_case(word);
            static const std::set<std::string_view> links{"in",    "with", "since", "from",    "until",
                                                          "after", "by",   "as",    "version", "of"};
            if (name == "torch" || name == "pytorch")
                product_ = "torch";
            else if (name == "rocm")
                product_ = "rocm";
            else if (!links.contains(name))
                product_.clear(); // the version of something else
            named.push_back({product_, version});
        }
        return named;
    }

  private:
    std::string product_;
};

} // namespace

std::vector<std::string> SupportClaims::targets_named(std::string_view part) const {
    static const RE2 sm("\\bsm_?(\\d{2,3})\\b");
    std::vector<std::string> targets;
    const auto add = [&](const std::string& target) {
        if (std::ranges::find(targets, target) == targets.end())
            targets.push_back(target);
    };
    for (const Mention& mention : finder_.mentions(part)) {
        if (mention.kind == Mention::Kind::gfx)
            add(mention.name);
        std::ranges::for_each(mention.targets, add);
        if (mention.kind == Mention::Kind::architecture)
            for (const GfxTarget& target : knowledge_.gfx_targets)
                if (target.architecture == mention.name && !target.integrated)
                    add(target.name);
    }
    std::string capability;
    if (RE2::PartialMatch(piece(part), sm, &capability))
        add("sm_" + capability);
    for (const Generation& generation : generations)
        if (targets.empty() &&
            RE2::PartialMatch(piece(part), fmt::format("(?i)\\b(?:{})\\b", generation.pattern)))
            for (const std::string_view target : split(generation.targets, ' '))
                add(std::string(target));
    if (const GpuModel* gpu = targets.empty() ? knowledge_.gpu_named(part) : nullptr;
        gpu != nullptr && gpu->vendor == "nvidia" && !gpu->target.empty())
        add(gpu->target);
    return targets;
}

void SupportClaims::mark_claims(const Block& block, std::vector<Found>& found) const {
    static const RE2 relevant("(?i)torch|rocm");
    static const RE2 about_wheels("(?i)\\b(wheels?|kernels?|binary|binaries|torch|pytorch)\\b");
    static const RE2 other_index("(?i)\\bcu\\d{3}\\b|\\bCUDA ?\\d");
    if (block.code || !RE2::PartialMatch(block.text, relevant))
        return;
    Releases releases;
    std::optional<Releases::Named> introduced; // "In torch 2.6, …"
    for (const Part& part : parts_of(block.text)) {
        std::vector<Releases::Named> named = releases.in(part.text);
        const auto said = said_in(part.text);
        if (!said) {
            introduced = named.size() == 1 ? std::optional(named.front()) : std::nullopt;
            continue;
        }
        if (named.empty() && introduced)
            named.push_back(*introduced);
        introduced.reset();
        if (named.size() != 1 || named.front().product.empty() ||
            RE2::PartialMatch(piece(part.text), other_index) ||
            (named.front().product == "rocm" && !RE2::PartialMatch(piece(part.text), about_wheels)))
            continue;
        SupportStatement statement{named.front().product, named.front().version, *said,
                                   targets_named(part.text), true};
        if (statement.targets.empty())
            continue;
        statement.amd = statement.targets.front().starts_with("gfx");
        if (is_denied(block.text, part.begin, part.begin + part.text.size()))
            continue;
        if (auto judgment = judge(statement, knowledge_))
            mark(block, part.begin, part.text.size(), "claim", std::move(*judgment), found);
    }
}

} // namespace rekindle::doctor
