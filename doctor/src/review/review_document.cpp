#include "claims.h"
#include "container_files.h"
#include "container_lines.h"
#include "numpy_pairs.h"
#include "parameters.h"
#include "restart_loops.h"
#include "support_claims.h"
#include "targets.h"
#include "variables.h"
#include "wheels.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <re2/re2.h>
#include <set>

namespace rekindle::doctor {
namespace {

/// No document for people has more; a hostile one would fill the memory.
constexpr std::size_t mark_limit = 20'000;

/// The subject of the whole document.
struct Subject {
    std::vector<const GfxTarget*> targets; ///< of all GPU and gfx names, in their order
    bool amd = false;
    bool nvidia = false;
};

std::vector<const GfxTarget*> targets_of(const std::vector<Mention>& mentions, const Knowledge& knowledge) {
    std::vector<const GfxTarget*> targets;
    const auto add = [&](const std::string& name) {
        const GfxTarget* target = knowledge.gfx(name);
        if (target != nullptr && std::find(targets.begin(), targets.end(), target) == targets.end())
            targets.push_back(target);
    };
    for (const Mention& mention : mentions) {
        if (mention.kind == Mention::Kind::gfx)
            add(mention.name);
        for (const std::string& name : mention.targets)
            add(name);
    }
    return targets;
}

Subject subject_of(std::string_view document, const TargetFinder& finder, const Knowledge& knowledge) {
    static const RE2 amd("(?i)\\b(ROCm|Radeon|RDNA|AMD|HIP)\\b");
    // A document that mentions both may mean either in an install command.
    static const RE2 nvidia("(?i)\\b(NVIDIA|GeForce|RTX ?\\d{4}|CUDA ?\\d|whl/cu\\d+)\\b");
    constexpr std::size_t enough = 16; ///< a document about more GPUs than this is about none in particular
    Subject subject;
    std::set<const GfxTarget*> seen;
    for_each_block(document, [&](const Block& block) {
        subject.amd = subject.amd || RE2::PartialMatch(block.text, amd);
        subject.nvidia = subject.nvidia || RE2::PartialMatch(block.text, nvidia);
        for (const GfxTarget* target : targets_of(finder.mentions(block.text), knowledge))
            if (seen.insert(target).second)
                subject.targets.push_back(target);
        return subject.targets.size() < enough || !subject.amd || !subject.nvidia;
    });
    return subject;
}

/// Assumes that a document that names no vendor and no GPU is about this host's GPUs.
void complete(Subject& subject, const Facts& host, const Knowledge& knowledge) {
    if (subject.amd || subject.nvidia || !subject.targets.empty())
        return;
    for (const Gpu& gpu : host.gpus) {
        subject.amd = subject.amd || gpu.vendor == "amd";
        subject.nvidia = subject.nvidia || gpu.vendor == "nvidia";
        if (const GfxTarget* target = gpu.gfx ? knowledge.gfx(*gpu.gfx) : nullptr; target != nullptr)
            subject.targets.push_back(target);
    }
}

bool is_building(const Block& block) {
    static const RE2 build("(?i)(setup\\.py|\\bgit clone\\b|\\bcmake\\b|\\bmake -j|build_amd\\.py|from "
                           "source|no-build-isolation|\\bninja\\b|custom (wheel|pytorch))");
    return RE2::PartialMatch(block.text, build);
}

void mark_images(const Block& block, const Knowledge& knowledge, std::vector<Found>& found) {
    static const RE2 image("\\b((?:rocm|amdih)/[a-z0-9._-]+:([A-Za-z0-9][A-Za-z0-9._-]*))");
    re2::StringPiece rest(block.text);
    re2::StringPiece whole;
    std::string tag;
    while (RE2::FindAndConsume(&rest, image, &whole, &tag)) {
        std::string name(whole);
        while (name.ends_with('.') || name.ends_with('-'))
            name.pop_back();
        const std::size_t at = static_cast<std::size_t>(whole.data() - block.text.data());
        const auto known = std::find_if(knowledge.images.begin(), knowledge.images.end(),
                                        [&](const ContainerImage& one) { return one.tag == name; });
        Judgment judgment{Verdict::unknown,
                          "AMD's documentation does not list this tag; whether it exists was not checked.",
                          {}};
        if (known != knowledge.images.end())
            judgment = {Verdict::holds,
                        fmt::format("A documented tag{}{}.",
                                    known->torch.empty() ? "" : ": torch " + known->torch,
                                    known->rocm.empty() ? "" : ", ROCm " + known->rocm),
                        known->evidence};
        else if (tag == "latest")
            judgment = {Verdict::holds,
                        "Exists, but names no versions, so it can become a different image at any time.",
                        {}};
        else if (!knowledge.images.empty())
            judgment.evidence = knowledge.images.front().evidence;
        mark(block, at, name.size(), "image", std::move(judgment), found);
    }
}

/// A claim about a setting, a version pair, an image or a target is more specific than what is known about
/// all such things; but what was computed from the tables of wheels and GPUs is not overruled.
bool claim_gives_way(const Found& claim, const Found& other) {
    return claim.mark.kind != "variable" && other.mark.verdict != Verdict::unknown;
}

bool overlap(const Found& one, const Found& other) {
    return one.mark.kind == other.mark.kind && one.begin < other.end && other.begin < one.end;
}

/// Appends marks and claims of one block, without duplicates.
void merge(std::vector<Found> marks, std::vector<Found> claims, std::vector<Found>& found) {
    for (const Found& claim : claims)
        std::erase_if(marks, [&](const Found& one) {
            return overlap(one, claim) && !claim_gives_way(claim, one) &&
                   one.mark.verdict != Verdict::harmful;
        });
    std::erase_if(claims, [&](const Found& claim) {
        return std::any_of(marks.begin(), marks.end(), [&](const Found& one) { return overlap(one, claim); });
    });
    std::move(claims.begin(), claims.end(), std::back_inserter(marks));
    std::stable_sort(marks.begin(), marks.end(),
                     [](const Found& a, const Found& b) { return a.begin < b.begin; });
    std::move(marks.begin(), marks.end(), std::back_inserter(found));
}

/// The GPUs named last before a block, and the line that names them, such as "# for the 6800 XT" above a
/// command.
struct NearestTargets {
    std::vector<const GfxTarget*> targets;
    std::size_t line = 0;

    bool are_near(const Block& block) const { return !targets.empty() && block.line - line <= 3; }
};

/// The heading above a block and the paragraph that introduces it.
struct Introduction {
    std::string heading;
    std::string paragraph; ///< the last text under this heading that is not code

    void read(const Block& block) {
        if (!block.code && block.text.starts_with('#')) {
            heading = block.text;
            paragraph.clear();
        } else if (!block.code) {
            paragraph = block.text;
        }
    }

    /// The text that introduces a block of code.
    std::string above(const Block& block) const {
        return block.code ? heading + ' ' + paragraph + ' ' : heading + ' ';
    }
};

/// Finds out, block by block, which GPUs a setting is for and whether something is built there.
class SettingContexts {
  public:
    SettingContexts(std::string_view document, ContainerFile kind, const Subject& subject,
                    const Knowledge& knowledge)
        : document_(document), dockerfile_(kind == ContainerFile::dockerfile), subject_(subject),
          knowledge_(knowledge) {}

    /// `mentions` are the GPUs that the block names. Blocks must come in the order of the document.
    SettingContext at(const Block& block, const std::vector<Mention>& mentions,
                      const Introduction& introduction) {
        if (is_building(block))
            last_build_line_ = block.line;
        SettingContext context{targets_of(mentions, knowledge_),
                               {},
                               dockerfile_ || (last_build_line_ && block.line - *last_build_line_ <= 16),
                               subject_.nvidia && !subject_.amd && subject_.targets.empty(),
                               document_,
                               introduction.above(block) + block.text};
        for (const Mention& mention : mentions)
            for (const GfxTarget* target : targets_of({mention}, knowledge_))
                context.named.push_back({mention.at, target});
        if (!context.targets.empty())
            nearest_ = {context.targets, block.line};
        else
            context.targets = nearest_.are_near(block) ? nearest_.targets : subject_.targets;
        return context;
    }

  private:
    std::string_view document_;
    bool dockerfile_;
    const Subject& subject_;
    const Knowledge& knowledge_;
    std::optional<std::size_t> last_build_line_;
    NearestTargets nearest_;
};

/// Whether the text ends with advice against what follows: "do not …", "instead of …".
bool is_warning(std::string_view text) {
    static const RE2 warning(
        "(?i)(\\b(do not|don'?t|never|avoid|must not|should not|shouldn'?t|no need to|not necessary|stop "
        "(using|setting)|unset|what not to|not recommended|discouraged|dangerous|bad "
        "(idea|practice|advice))\\b([^.!?;]|[.!?;][^ ]){0,100}|\\b(instead of|rather "
        "than|without)\\b[^.!?;,:]{0,60})$");
    return RE2::PartialMatch({text.data(), text.size()}, warning);
}

/// Whether the text goes on to say that what precedes it should not be done: "… is never needed".
bool is_dismissal(std::string_view text) {
    static const RE2 dismissal(
        R"((?i)^[`"'*)\]]*[,;]? (?:)"
        R"((is|are|was|were|should|must|has|have|will|would|can|could)\b[^.!?;]{0,20}\b(never|not|no longer|no effect|)"
        R"(nothing|unnecessary|useless|pointless|harmful|dangerous|unsafe|deprecated|discouraged|avoided|a bad idea|)"
        R"(a mistake)\b|)"
        R"((is|are|was|were|should|must|has|have|does|do|did|would|could)(n't| not)\b|)"
        R"(please (do not|don't)\b|(do not|don't) (do|use|run|set|try|copy)\b|)"
        R"((is|are) (only |meant )?for (kernel |driver )?(developers|debugging|debuggers)\b|)"
        R"((breaks?|broke|overwrites?|ruins?|damages?|crashe?s?|does nothing)\b))");
    return RE2::PartialMatch({text.data(), text.size()}, dismissal);
}

/// Whether the document advises against the command or setting, in the same sentence or in the heading or
/// paragraph that introduces its block of code.
bool is_warned_against(const Found& one, const Block& block, const Introduction& introduction) {
    const bool does_something =
        one.mark.kind == "command" || one.mark.kind == "variable" || one.mark.kind == "version pair";
    if (!does_something || one.mark.verdict == Verdict::holds)
        return false;
    const auto place = std::ranges::lower_bound(block.origins, one.begin);
    const std::string_view before =
        std::string_view(block.text).substr(0, static_cast<std::size_t>(place - block.origins.begin()));
    const auto end = std::lower_bound(place, block.origins.end(), one.end);
    const std::string_view after =
        std::string_view(block.text).substr(static_cast<std::size_t>(end - block.origins.begin()));
    if (is_warning(before) || (!block.code && is_dismissal(after)))
        return true;
    std::string_view words = introduction.paragraph;
    while (!words.empty() && (words.back() == ':' || words.back() == ' '))
        words.remove_suffix(1);
    return block.code && (introduction.paragraph.ends_with(':') || is_warning(introduction.heading)) &&
           (is_warning(words) || is_warning(introduction.heading));
}

/// Whether a Dockerfile may do this: in an image, nothing else uses the system's Python or the profile.
bool is_harmless_in_an_image(const Found& one) {
    return one.mark.kind == "command" &&
           (one.mark.text.find("--break-system-packages") != std::string::npos ||
            one.mark.text.starts_with("> "));
}

/// Collects the statements that several lines make together, in the order of the document.
std::vector<Found> across_lines(std::string_view text, ContainerFile kind, const Knowledge& knowledge) {
    std::vector<Found> found;
    mark_restart_loops(text, found);
    mark_numpy_pairs(text, knowledge, found);
    if (kind == ContainerFile::compose)
        mark_services(text, found);
    std::ranges::stable_sort(found, {}, &Found::begin);
    return found;
}

/// Moves those that begin at or before an offset.
void take_until(std::size_t offset, std::vector<Found>& from, std::vector<Found>& into) {
    const auto end = std::ranges::find_if(from, [&](const Found& one) { return one.begin > offset; });
    std::move(from.begin(), end, std::back_inserter(into));
    from.erase(from.begin(), end);
}

std::vector<Mark> marks_of(std::vector<Found> found) {
    std::vector<Mark> marks;
    marks.reserve(found.size());
    for (Found& one : found)
        marks.push_back(std::move(one.mark));
    if (marks.size() >= mark_limit) {
        marks.resize(mark_limit);
        marks.push_back({marks.back().line,
                         "document",
                         "…",
                         Verdict::unknown,
                         fmt::format("The review stopped after {} and did not read the rest.",
                                     counted(mark_limit, "mark")),
                         {}});
    }
    return marks;
}

} // namespace

std::vector<Mark> review_document(std::string_view document, const Knowledge& knowledge, const Facts* host) {
    const ContainerFile kind = container_file_in(document);
    const std::string assigned = with_assignments(document, kind);
    const std::string_view text = assigned;
    const ClaimFinder claims(knowledge);
    const ClaimFinder::Scope scope = claims.scope_of(text);
    const TargetFinder targets(knowledge);
    const VariableFinder variables(knowledge);
    const ParameterFinder parameters(knowledge);
    const SupportClaims support(knowledge, targets);
    Subject subject = subject_of(text, targets, knowledge);
    if (host != nullptr)
        complete(subject, *host, knowledge);
    WheelReview wheels(knowledge);
    std::vector<Found> found;
    SettingContexts contexts(text, kind, subject, knowledge);
    const ContainerLines container_lines(text);
    std::vector<Found> across = across_lines(text, kind, knowledge);
    Introduction introduction;
    for_each_block(text, [&](const Block& block) {
        const std::vector<Mention> mentions = targets.mentions(block.text);
        std::vector<Found> marks;
        std::vector<Found> said;
        const SettingContext context = contexts.at(block, mentions, introduction);
        variables.mark_variables(block, context, marks);
        parameters.mark_parameters(block, context, marks);
        wheels.mark_pairs(block, subject.amd && !subject.nvidia, marks);
        mark_images(block, knowledge, marks);
        targets.mark_targets(block, mentions, marks);
        support.mark_claims(block, marks);
        claims.mark_claims(block, introduction.heading, container_lines, scope, said);
        take_until(block.origins.back(), across, marks);
        for (std::vector<Found>* each : {&marks, &said})
            std::erase_if(*each, [&](const Found& one) {
                return is_warned_against(one, block, introduction) ||
                       (kind == ContainerFile::dockerfile && is_harmless_in_an_image(one));
            });
        introduction.read(block);
        merge(std::move(marks), std::move(said), found);
        return found.size() < mark_limit;
    });
    std::ranges::move(across, std::back_inserter(found));
    std::ranges::stable_sort(found, {}, &Found::begin);
    for (Found& one : found) // as written, where with_assignments() changed it
        if (one.mark.kind == "variable" && kind != ContainerFile::none)
            one.mark.text = printable(trim(document.substr(one.begin, one.end - one.begin)), mark_text_limit);
    return marks_of(std::move(found));
}

} // namespace rekindle::doctor
