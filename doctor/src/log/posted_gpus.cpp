#include "log/posted_values.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <ranges>
#include <re2/re2.h>

namespace rekindle::doctor {
namespace {

constexpr std::size_t max_gpus = 16;

struct Target {
    std::string name;   ///< "gfx1100", "sm_61"
    int ordinal = -1;   ///< "(cuda:1)"
    bool shown = false; ///< printed by a runtime, which an override changes
};

struct Card {
    std::string text;
    const GpuModel* model = nullptr;
    bool integrated = false;
};

bool matches_words(std::string_view text, const char* pattern) {
    return RE2::PartialMatch(text, RE2(std::string("(?i)") + pattern, RE2::Quiet));
}

std::vector<std::string> items_of(std::string_view text) {
    static const RE2 separator(R"((?i)\s+(?:\+|and|plus|with|&)\s+|\s*[,;]\s*)", RE2::Quiet);
    std::string lines(text);
    RE2::GlobalReplace(&lines, separator, "\n");
    std::vector<std::string> parts;
    for (const std::string_view part : split(lines, '\n'))
        if (!trim(part).empty())
            parts.emplace_back(trim(part));
    return parts;
}

bool names_a_gpu(std::string_view part) {
    return matches_words(
        part,
        R"(radeon|geforce|\brtx\b|\bgtx\b|\brx ?\d{3,4}|instinct|\bmi ?\d{2,3}x?\b|tesla|quadro|\barc a\d|)"
        R"(\bvega\b|polaris|navi|ryzen ai|\bigpu\b|\bapu\b|\bgpus?\b|\b\d{3}m\b|\b[avht]\d{2,3}\b)");
}

/// "4x GeForce RTX 2080", "2 × RX 7900 XTX", "two RX 7900 XT", "RX 580 x2".
std::size_t times(std::string_view part) {
    static const RE2 before(R"((?i)^\(?(\d{1,2})\s*(?:x|×|\*)\s+\S)", RE2::Quiet);
    static const RE2 after(R"((?i)\s[x×](\d{1,2})\b)", RE2::Quiet);
    static const RE2 word(R"((?i)^(two|dual|three|four|eight)\b)", RE2::Quiet);
    std::size_t count = 1;
    std::string name;
    if (RE2::PartialMatch(part, before, &count) || RE2::PartialMatch(part, after, &count))
        return std::clamp<std::size_t>(count, 1, max_gpus);
    if (RE2::PartialMatch(part, word, &name))
        switch (std::tolower(static_cast<unsigned char>(name[1]))) {
        case 'h':
            return 3;
        case 'o':
            return 4;
        case 'i':
            return 8;
        default:
            return 2;
        }
    return count;
}

std::vector<Card> cards_of(std::string_view text, const Knowledge& knowledge) {
    std::vector<Card> cards;
    if (is_unstated(text))
        return cards;
    for (const std::string& part : items_of(text)) {
        const GpuModel* model = knowledge.gpu_named(part);
        if (model == nullptr && !names_a_gpu(part))
            continue;
        const bool integrated =
            matches_words(part, R"(\bigpu\b|\bapu\b|integrated|radeon(?:\(tm\))? (?:\d{3}m )?graphics)") ||
            (model != nullptr && model->integrated);
        // "RX 7900 XT with 20 GB" adds words to a GPU, not a second GPU; "two RX 7900 XT" adds two.
        for (std::size_t n = times(part); n > 0 && cards.size() < max_gpus; --n)
            cards.push_back({part, model, integrated});
    }
    if (cards.empty())
        cards.push_back({std::string(trim(text)), nullptr, false});
    return cards;
}

std::vector<Target> targets_of(std::string_view text) {
    static const RE2 target(
        R"((?i)\b(gfx[0-9]{3,4}[0-9a-f]?|gfx90[ac]|sm_?\d{2,3})\b([^,;]*?)(?:,|;|\band\b|$))", RE2::Quiet);
    static const RE2 ordinal(R"((?i)(?:cuda|hip|device|gpu)\s*[: ]?\s*(\d{1,2}))", RE2::Quiet);
    std::vector<Target> targets;
    if (is_unstated(text))
        return targets;
    re2::StringPiece rest = text;
    std::string name;
    std::string words;
    while (RE2::FindAndConsume(&rest, target, &name, &words) && targets.size() < max_gpus) {
        std::transform(name.begin(), name.end(), name.begin(),
                       [](unsigned char c) { return std::tolower(c); });
        if (name.starts_with("sm") && name[2] != '_')
            name.insert(2, 1, '_');
        Target found{name, -1,
                     matches_words(words, "printed|rocminfo|shown|reported as|overrid|presented|pretend")};
        RE2::PartialMatch(words, ordinal, &found.ordinal);
        targets.push_back(std::move(found));
    }
    return targets;
}

Gpu gpu_of(const Card& card) {
    Gpu gpu;
    const std::string source(posted_source);
    if (!card.text.empty())
        gpu.name = {card.text, source};
    if (card.model != nullptr)
        gpu.vendor = card.model->vendor;
    else if (matches_words(card.text,
                           R"(amd|radeon|instinct|\brx ?\d{3,4}|\bmi ?\d{2,3}|vega|polaris|navi|ryzen)"))
        gpu.vendor = "amd";
    else if (matches_words(card.text, R"(nvidia|geforce|\brtx\b|\bgtx\b|tesla|quadro)"))
        gpu.vendor = "nvidia";
    std::string pci;
    if (RE2::PartialMatch(card.text, R"(\b((?:1002|10de|8086):[0-9a-fA-F]{4})\b)", &pci)) {
        gpu.pci_id = {pci, source};
        gpu.vendor = pci.starts_with("1002") ? "amd" : pci.starts_with("10de") ? "nvidia" : "intel";
    }
    if (card.integrated)
        gpu.integrated = {true, source};
    return gpu;
}

/// A target that contradicts the GPU's name is the result of an override.
void give_target(Gpu& gpu, const Target& target, const Card& card) {
    const std::string source(posted_source);
    if (target.name.starts_with("sm_")) {
        const std::string digits = target.name.substr(3);
        gpu.compute_capability = {digits.substr(0, digits.size() - 1) + "." + digits.back(), source};
        gpu.vendor = "nvidia";
        return;
    }
    gpu.vendor = "amd";
    const bool contradicted =
        card.model != nullptr && card.model->target.starts_with("gfx") && card.model->target != target.name;
    if (target.shown || contradicted)
        gpu.runtime_gfx = {target.name, source};
    else
        gpu.gfx = {target.name, source};
}

/// Index of the free GPU that a target fits best: the model's own, then integrated to integrated, then the
/// first.
std::optional<std::size_t> card_for(const Target& target, const std::vector<Card>& cards,
                                    const std::vector<bool>& taken, const Knowledge& knowledge) {
    std::optional<std::size_t> best;
    int best_fit = -1;
    const GfxTarget* known = knowledge.gfx(target.name);
    for (std::size_t i = 0; i < cards.size(); ++i) {
        if (taken[i])
            continue;
        const bool own = cards[i].model != nullptr && cards[i].model->target == target.name;
        const bool alike = known != nullptr && known->integrated == cards[i].integrated;
        const int fit = own ? 2 : alike ? 1 : 0;
        if (fit > best_fit) {
            best_fit = fit;
            best = i;
        }
    }
    return best;
}

} // namespace

void read_posted_gpus(std::string_view gpu, std::string_view gfx, const Knowledge& knowledge, Facts& facts) {
    std::vector<Card> cards = cards_of(gpu, knowledge);
    const std::vector<Target> targets = targets_of(gfx);
    while (cards.size() < targets.size())
        cards.push_back({});
    std::vector<bool> taken(cards.size(), false);
    std::vector<std::pair<int, Gpu>> gpus;
    for (const Target& target : targets) {
        const std::optional<std::size_t> index = card_for(target, cards, taken, knowledge);
        if (!index)
            break;
        taken[*index] = true;
        Gpu made = gpu_of(cards[*index]);
        give_target(made, target, cards[*index]);
        gpus.emplace_back(target.ordinal, std::move(made));
    }
    for (std::size_t i = 0; i < cards.size(); ++i) {
        if (taken[i])
            continue;
        Gpu made = gpu_of(cards[i]);
        // One target for several GPUs of the same name is the target of all of them.
        const bool same = targets.size() == 1 && !gpus.empty() && gpus.front().second.name.is(cards[i].text);
        if (same)
            give_target(made, targets.front(), cards[i]);
        gpus.emplace_back(-1, std::move(made));
    }
    std::stable_sort(gpus.begin(), gpus.end(), [](const auto& a, const auto& b) {
        return a.first >= 0 && b.first >= 0 && a.first < b.first;
    });
    for (Gpu& made : std::views::values(gpus)) {
        made.address = fmt::format("case:{}", facts.gpus.size());
        facts.gpus.push_back(std::move(made));
    }
}

} // namespace rekindle::doctor
