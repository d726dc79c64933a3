#include "targets.h"

#include "knowledge/gfx_names.h"
#include "version.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <re2/re2.h>
#include <unordered_map>

namespace rekindle::doctor {
namespace {

constexpr std::string_view target_kind = "gfx target";

constexpr std::size_t words_of_a_name = 6;
constexpr std::size_t shortest_key = 4;

bool is_word_character(char c) noexcept {
    return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

std::string upper(std::string_view text) {
    std::string result(text);
    for (char& c : result)
        c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return result;
}

std::string_view without_brands(std::string_view name) {
    for (const std::string_view brand : {"AMD ", "Radeon ", "Instinct ", "Pro "})
        if (name.starts_with(brand))
            name.remove_prefix(brand.size());
    return name;
}

/// How a name is looked up: letters and digits only, upper case.
std::string key_of(std::string_view name) {
    std::string key;
    for (const char c : name)
        if (is_word_character(c))
            key += c;
    return upper(key);
}

/// The run of letters and digits that begins at `at`.
std::string_view word_at(std::string_view text, std::size_t at) {
    std::size_t end = at;
    while (end < text.size() && is_word_character(text[end]))
        ++end;
    return text.substr(at, end - at);
}

bool is_gfx(std::string_view word) noexcept {
    return word.size() >= 6 && word.size() <= 7 && (word.starts_with("gfx") || word.starts_with("GFX")) &&
           word.find_first_not_of("0123456789abcdefABCDEF", 3) == std::string_view::npos;
}

/// "RDNA3", "RDNA 3", "RDNA3.5", "CDNA 2", "GCN" at the beginning of a word; size 0: none.
Mention architecture_at(std::string_view text, std::size_t at) {
    Mention mention{Mention::Kind::architecture, at, 0, "", {}};
    const std::string_view word = word_at(text, at);
    const std::string family = upper(word.substr(0, 4));
    if (upper(word) == "GCN")
        return {Mention::Kind::architecture, at, 3, "GCN", {}};
    if (family != "RDNA" && family != "CDNA")
        return mention;
    std::size_t digit = at + 4;
    if (word.size() == 4 && digit < text.size() && text[digit] == ' ')
        ++digit;
    if (word.size() > 5 || digit >= text.size() || text[digit] < '1' || text[digit] > '4' ||
        (digit + 1 < text.size() && is_word_character(text[digit + 1])))
        return mention;
    const bool half = text.substr(digit + 1, 2) == ".5";
    mention.size = digit + 1 + (half ? 2 : 0) - at;
    mention.name = family + text[digit] + (half ? ".5" : "");
    return mention;
}

/// Targets that LLVM knows or knew, but whose GPUs are unsold or unfit for training, so that the doctor's
/// table omits them. Source: LLVM, AMDGPUUsage.
constexpr std::array<std::string_view, 22> other_targets{
    "gfx600", "gfx601", "gfx602",  "gfx700",  "gfx701",  "gfx702", "gfx703", "gfx704",
    "gfx705", "gfx801", "gfx802",  "gfx805",  "gfx810",  "gfx902", "gfx904", "gfx909",
    "gfx940", "gfx941", "gfx1170", "gfx1250", "gfx1251", "gfx1310"};

} // namespace

struct TargetFinder::Names {
    struct Card {
        std::string name;
        std::vector<std::string> targets; ///< several where different chips were sold under one name
    };
    std::unordered_map<std::string, Card> cards; ///< by key

    explicit Names(const Knowledge& knowledge) {
        for (const GpuModel& gpu : knowledge.gpus)
            if (gpu.vendor == "amd" && gpu.target.starts_with("gfx"))
                add(gpu);
    }

    /// Known by its name without the brand, and by the part after "RX" if letters remain ("7900 XT"), but
    /// never by a number alone.
    void add(const GpuModel& gpu) {
        const std::string key = key_of(without_brands(gpu.name));
        for (const std::string& one : {key, key.starts_with("RX") ? key.substr(2) : std::string()}) {
            if (one.size() < shortest_key || one.find_first_not_of("0123456789") == std::string::npos)
                continue;
            Card& card = cards[one];
            if (card.name.empty())
                card.name = gpu.name;
            if (std::find(card.targets.begin(), card.targets.end(), gpu.target) == card.targets.end())
                card.targets.push_back(gpu.target);
        }
    }

    /// The longest name that begins at `at`; size 0: none. The words of a name are joined, or separated by
    /// one space or hyphen.
    Mention card_at(std::string_view text, std::size_t at) const {
        Mention longest{Mention::Kind::card, at, 0, "", {}};
        std::string key;
        std::size_t end = at;
        for (std::size_t words = 0; words < words_of_a_name && end < text.size(); ++words) {
            const std::string_view word = word_at(text, end);
            if (word.empty() || key.size() + word.size() > 40)
                break;
            key += upper(word);
            end += word.size();
            if (const auto card = cards.find(key); card != cards.end()) {
                longest.size = end - at;
                longest.name = card->second.name;
                longest.targets = card->second.targets;
            }
            if (end >= text.size() || (text[end] != ' ' && text[end] != '-'))
                break;
            ++end;
        }
        return longest;
    }
};

TargetFinder::TargetFinder(const Knowledge& knowledge)
    : knowledge_(knowledge), names_(std::make_unique<Names>(knowledge)) {}
TargetFinder::~TargetFinder() = default;

std::vector<Mention> TargetFinder::mentions(std::string_view text) const {
    std::vector<Mention> mentions;
    for (std::size_t at = 0; at < text.size();) {
        const std::string_view word = word_at(text, at);
        if (word.empty()) {
            ++at;
            continue;
        }
        Mention mention = is_gfx(word) ? Mention{Mention::Kind::gfx, at, word.size(), lower_case(word), {}}
                                       : architecture_at(text, at);
        if (mention.size == 0)
            mention = names_->card_at(text, at);
        if (mention.size == 0) {
            at += word.size();
            continue;
        }
        at += mention.size;
        mentions.push_back(std::move(mention));
    }
    return mentions;
}

Judgment TargetFinder::judge_name(const std::string& gfx) const {
    const GfxTarget* target = knowledge_.gfx(gfx);
    if (target == nullptr && std::ranges::find(other_targets, gfx) != other_targets.end())
        return {Verdict::unknown,
                fmt::format("{} is a target of LLVM, but the doctor's table has no GPU with it.", gfx),
                {{"documentation", "llvm.org/docs/AMDGPUUsage.html", "table of processors"}}};
    if (target == nullptr)
        return {knowledge_.gfx_targets.empty() ? Verdict::unknown : Verdict::wrong,
                fmt::format("The target {} is unknown; the doctor's table has {} targets.", gfx,
                            knowledge_.gfx_targets.size()),
                knowledge_.gfx_targets.empty() ? std::vector<Backing>{}
                                               : knowledge_.gfx_targets.front().evidence};
    std::vector<std::string> cards;
    for (const GpuModel& gpu : knowledge_.gpus)
        if (gpu.target == gfx && cards.size() < 3)
            cards.push_back(gpu.name);
    const std::string inside = target->integrated ? "integrated GPUs only" : "";
    return {Verdict::holds,
            fmt::format("{} is {}{}{}.", gfx, target->architecture, inside.empty() ? "" : ", " + inside,
                        cards.empty() ? "" : ", for example " + list_of(cards)),
            target->evidence};
}

Judgment TargetFinder::judge_statement(const Mention& subject, const Mention& said) const {
    std::vector<std::string> targets =
        subject.kind == Mention::Kind::gfx ? std::vector{subject.name} : subject.targets;
    const GfxTarget* known = targets.empty() ? nullptr : knowledge_.gfx(targets.front());
    if (known == nullptr)
        return judge_name(targets.empty() ? subject.name : targets.front());
    const bool right = said.kind == Mention::Kind::gfx
                           ? std::find(targets.begin(), targets.end(), said.name) != targets.end()
                           : known->architecture == said.name ||
                                 (known->architecture == "CDNA" && said.name.starts_with("CDNA"));
    return {right ? Verdict::holds : Verdict::wrong,
            subject.kind == Mention::Kind::gfx
                ? fmt::format("{} is {}.", subject.name, known->architecture)
                : fmt::format("{} is {} ({}).", subject.name, list_of(targets), known->architecture),
            known->evidence};
}

namespace {

/// Where the text after a subject says what it is: the range of "(RDNA1/gfx1010)", " is RDNA3", ",
/// gfx1103".
struct Statement {
    std::size_t begin = 0;
    std::size_t end = 0;
};
std::optional<Statement> statement_after(std::string_view text, std::size_t at) {
    static const RE2 link(
        "(?i)^['’s]*(?: ?(?:users?|cards?|gpus?|owners?|target))? ?(?:\\((?:all )?([^()]{1,80})\\)|"
        "(?:is|are|=|:|→|->|/|, which (?:is|corresponds to)) ?(?:an? |the )?([^ ,;()]{3,12}(?: "
        "?[1-4XTR]{1,3}\\b)?))");
    const std::string_view after = text.substr(at, 120);
    re2::StringPiece inside;
    re2::StringPiece word;
    if (!RE2::PartialMatch({after.data(), after.size()}, link, &inside, &word))
        return std::nullopt;
    const re2::StringPiece& found = inside.empty() ? word : inside;
    if (found.empty())
        return std::nullopt;
    const std::size_t begin = static_cast<std::size_t>(found.data() - text.data());
    return Statement{begin, begin + found.size()};
}

/// "A, B and C (all RDNA3)": whether the text between two names is only list punctuation.
bool is_list_gap(std::string_view between) {
    static const RE2 gap("(?:[ ,/&]|and|or){1,6}");
    return RE2::FullMatch({between.data(), between.size()}, gap);
}

} // namespace

void TargetFinder::mark_targets(const Block& block, const std::vector<Mention>& mentions,
                                std::vector<Found>& found) const {
    std::vector<bool> said(mentions.size(), false);
    std::size_t list_begin = 0;
    for (std::size_t i = 0; i < mentions.size(); ++i) {
        const std::size_t end = mentions[i].at + mentions[i].size;
        const bool next_in_list =
            i + 1 < mentions.size() && mentions[i].kind == Mention::Kind::card &&
            mentions[i + 1].kind == Mention::Kind::card &&
            is_list_gap(std::string_view(block.text).substr(end, mentions[i + 1].at - end));
        if (next_in_list)
            continue;
        const std::size_t first = std::exchange(list_begin, i + 1);
        const auto statement = said[i] ? std::nullopt : statement_after(block.text, end);
        if (!statement)
            continue;
        std::vector<std::size_t> objects;
        for (std::size_t j = i + 1; j < mentions.size() && mentions[j].at < statement->end; ++j)
            if (mentions[j].at >= statement->begin && mentions[j].kind != mentions[i].kind)
                objects.push_back(j);
        if (objects.empty())
            continue;
        for (std::size_t k = first; k <= i; ++k)
            mark_statements(block, mentions, k, objects, found);
        std::fill(said.begin() + static_cast<std::ptrdiff_t>(first),
                  said.begin() + static_cast<std::ptrdiff_t>(i) + 1, true);
        for (const std::size_t j : objects)
            said[j] = true;
    }
    for (std::size_t i = 0; i < mentions.size(); ++i)
        if (mentions[i].kind == Mention::Kind::gfx && !said[i])
            mark(block, mentions[i].at, mentions[i].size, target_kind, judge_name(mentions[i].name), found);
}

void TargetFinder::mark_statements(const Block& block, const std::vector<Mention>& mentions,
                                   std::size_t subject, const std::vector<std::size_t>& objects,
                                   std::vector<Found>& found) const {
    const Mention& named = mentions[subject];
    bool all_hold = true;
    for (std::size_t i = 0; i < objects.size(); ++i) {
        const Mention& object = mentions[objects[i]];
        // "gfx1100 (7900 XT)" and "RDNA3 (gfx1100)" say it in the opposite order.
        const bool turned = object.kind == Mention::Kind::card || named.kind == Mention::Kind::architecture;
        Judgment judgment = turned ? judge_statement(object, named) : judge_statement(named, object);
        const bool holds = judgment.verdict == Verdict::holds;
        all_hold = all_hold && holds;
        if (!holds || (all_hold && i + 1 == objects.size()))
            mark(block, named.at, object.at + object.size - named.at, target_kind, std::move(judgment),
                 found);
    }
}

std::string target_of_override(std::string_view value) {
    const std::vector<long> numbers = version_numbers(value);
    if (numbers.size() != 3 || numbers[0] < 7 || numbers[0] > 99 || numbers[1] > 15 || numbers[2] > 15)
        return "";
    return fmt::format("gfx{}{:x}{:x}", numbers[0], numbers[1], numbers[2]);
}

Judgment judge_override(std::string_view value, const GfxTarget& target, const Knowledge& knowledge) {
    const std::string pretended = target_of_override(value);
    const EnvironmentVariable* variable = knowledge.variable("HSA_OVERRIDE_GFX_VERSION");
    const std::vector<Backing> evidence =
        target.overrides.empty() && variable != nullptr ? variable->evidence : target.evidence;
    if (pretended.empty())
        return {Verdict::wrong, fmt::format("\"{}\" is not a version such as 10.3.0.", printable(value, 20)),
                evidence};
    if (pretended == target.name)
        return {Verdict::no_effect,
                fmt::format("It is {}'s own target: the override is not needed.", target.name), evidence};
    for (const GfxTarget::Override& known : target.overrides) {
        if (known.value != value)
            continue;
        const Verdict verdict = known.verdict == "safe"       ? Verdict::holds
                                : known.verdict == "unneeded" ? Verdict::no_effect
                                                              : Verdict::harmful;
        return {verdict, fmt::format("On {} it is {}: {}", target.name, known.verdict, known.reason),
                evidence};
    }
    const GfxTarget* other = knowledge.gfx(pretended);
    if (other == nullptr)
        return {Verdict::harmful,
                fmt::format("The target {} is unknown; there is no code for it.", pretended), evidence};
    if (other->architecture != target.architecture)
        return {Verdict::harmful,
                fmt::format("On {} it is unsafe: {} is a different generation ({}, not {}).", target.name,
                            pretended, other->architecture, target.architecture),
                evidence};
    return {Verdict::unknown, fmt::format("There is no record of anyone having tried it on {}.", target.name),
            evidence};
}

} // namespace rekindle::doctor
