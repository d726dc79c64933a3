#include <rekindle/research/combined_report.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace rekindle::research {

namespace {

using trainer::Evidence;
using trainer::ReportKind;

enum class Found { edge, no_edge, undecided };

/// The verdict of one stage.
struct Judgment {
    std::string name;  ///< "the backtest"
    std::string place; ///< "in the backtest"
    const trainer::Evaluation* evaluation;
    bool decides = false;

    Found found() const {
        return evaluation->verdict.undecided || evaluation->verdict.empty() ? Found::undecided
               : evaluation->has_edge                                       ? Found::edge
                                                                            : Found::no_edge;
    }
};

const char* noun_of(const trainer::ReportData& report) {
    switch (report.kind) {
    case ReportKind::training:
        return "training run";
    case ReportKind::walk_forward:
        return report.evidence == Evidence::cross_validation ? "cross-validation" : "walk-forward";
    case ReportKind::search:
        return "search";
    case ReportKind::backtest:
        return "backtest";
    }
    return "run";
}

const char* preposition_of(ReportKind kind) {
    return kind == ReportKind::training ? "on the validation rows of " : "in ";
}

/// The verdicts of the stages, without final parts. The strictest comes first: the backtest, because it pays
/// costs.
std::vector<Judgment> stage_judgments(std::span<const ReportedRun> runs, bool decide) {
    std::map<std::string, int> count;
    for (const ReportedRun& run : runs)
        ++count[noun_of(run.report)];
    std::vector<Judgment> judgments;
    for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
        std::string name = fmt::format("the {}", noun_of(run->report));
        if (count[noun_of(run->report)] > 1)
            name += " " + run->folder.filename().string();
        judgments.push_back({name, preposition_of(run->report.kind) + name, &run->report.evaluation,
                             decide && run->report.evidence == Evidence::out_of_sample});
    }
    return judgments;
}

std::vector<Judgment> final_judgments(std::span<const ReportedRun> runs) {
    std::vector<Judgment> judgments;
    for (const ReportedRun& run : runs)
        if (run.report.final_part) {
            const std::string name = fmt::format("the final part of {}", run.folder.filename().string());
            judgments.push_back({name, "on " + name, &run.report.final_part->evaluation, true});
        }
    if (judgments.size() == 1) {
        judgments.front().name = "the final part of the walk-forward";
        judgments.front().place = "on the final part";
    }
    return judgments;
}

/// Combines the judgments that decide: all of them must find an edge.
Found found_by_all(std::span<const Judgment> judgments) {
    Found together = Found::undecided;
    for (const Judgment& judgment : judgments) {
        if (!judgment.decides || judgment.found() == Found::undecided)
            continue;
        if (judgment.found() == Found::no_edge)
            return Found::no_edge;
        together = Found::edge;
    }
    return together;
}

/// "the search, the walk-forward and the training run".
std::string list_of(const std::vector<std::string>& names) {
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i)
        text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
    return text;
}

std::vector<std::string> names_of(std::span<const Judgment> judgments, const Judgment* without, Found found) {
    std::vector<std::string> names;
    for (const Judgment& judgment : judgments)
        if (&judgment != without && judgment.found() == found)
            names.push_back(judgment.name);
    return names;
}

/// What the other stages find, as clauses that begin with "; ".
std::string other_stages(std::span<const Judgment> judgments, const Judgment* first, Found found) {
    const bool edge = found == Found::edge;
    const auto agree = names_of(judgments, first, found);
    const auto differ = names_of(judgments, first, edge ? Found::no_edge : Found::edge);
    const auto undecided = names_of(judgments, first, Found::undecided);
    const auto verb = [](const std::vector<std::string>& names, const char* one, const char* many) {
        return names.size() == 1 ? one : many;
    };
    std::string text;
    if (!agree.empty())
        text += fmt::format("; {} {}", list_of(agree), verb(agree, "agrees", "agree"));
    if (!differ.empty())
        text += fmt::format("; the stages disagree: {} {} {}", list_of(differ), verb(differ, "finds", "find"),
                            edge ? "none" : "an edge");
    if (!undecided.empty())
        text += fmt::format("; {} {} too little data to tell", list_of(undecided),
                            verb(undecided, "has", "have"));
    return text;
}

/// Why this evidence decides, and what weakens it.
std::string reasons(std::span<const ReportedRun> runs, bool has_final) {
    if (!has_final)
        return "No final part was opened, so backtest, search and walk-forward all have to find an edge.";
    std::string text = "The final part decides, because the folds before it were never scored on its rows.";
    if (std::ranges::any_of(runs, [](const ReportedRun& run) {
            return run.report.final_part && run.report.final_part->opened_before;
        }))
        text += " It had been opened before, so choices made since then may fit it.";
    return text;
}

/// The verdict when no stage is strict enough to show an edge.
CombinedVerdict without_evidence(std::span<const Judgment> judgments) {
    const auto edges = names_of(judgments, nullptr, Found::edge);
    const auto none = names_of(judgments, nullptr, Found::no_edge);
    const std::string advice = "Run rekindle walk-forward, then rekindle backtest on its predictions.";
    if (!edges.empty())
        return {{"Too little to tell",
                 fmt::format("{} {} an edge, but that is not enough by itself{}", list_of(edges),
                             edges.size() == 1 ? "finds" : "find",
                             none.empty() ? ""
                                          : fmt::format("; the stages disagree: {} {} none", list_of(none),
                                                        none.size() == 1 ? "finds" : "find")),
                 "A single split by time is one sample, and its rows also chose the epoch. " + advice, true},
                false};
    if (none.empty())
        return {{"Too little to tell", "no stage has enough data to tell", advice, true}, false};
    const auto shown =
        std::ranges::find_if(judgments, [](const Judgment& one) { return one.found() == Found::no_edge; });
    return {{"No edge",
             fmt::format("{}, {}{}", shown->place, shown->evaluation->verdict.finding,
                         other_stages(judgments, &*shown, Found::no_edge)),
             shown->evaluation->verdict.details},
            false};
}

CombinedVerdict judge(std::span<const ReportedRun> runs) {
    std::vector<Judgment> judgments = final_judgments(runs);
    const bool has_final = !judgments.empty();
    for (Judgment& judgment : stage_judgments(runs, !has_final))
        judgments.push_back(std::move(judgment));
    if (std::ranges::none_of(judgments, &Judgment::decides))
        return without_evidence(judgments);
    const Found found = found_by_all(judgments);
    if (found == Found::undecided)
        return {{"Too little to tell", "no stage that could show an edge has enough data",
                 reasons(runs, has_final), true},
                false};
    const auto first = std::ranges::find_if(
        judgments, [&](const Judgment& one) { return one.decides && one.found() == found; });
    const bool edge = found == Found::edge;
    const bool disagree = std::ranges::any_of(judgments, [&](const Judgment& one) {
        return one.found() != Found::undecided && one.found() != found;
    });
    return {{edge ? disagree ? "Edge, but the stages disagree" : "Edge" : "No edge",
             fmt::format("{}, {}{}", first->place, first->evaluation->verdict.finding,
                         other_stages(judgments, &*first, found)),
             reasons(runs, has_final)},
            edge};
}

/// A warning if the runs predict different targets, otherwise "".
std::string different_targets(std::span<const ReportedRun> runs) {
    std::set<std::string> targets;
    for (const ReportedRun& run : runs)
        if (!run.report.target.empty())
            targets.insert(run.report.target);
    return targets.size() < 2
               ? ""
               : fmt::format(" The runs predict different targets: {}.", fmt::join(targets, "; "));
}

} // namespace

CombinedVerdict judge_together(std::span<const ReportedRun> runs) {
    CombinedVerdict judged = judge(runs);
    judged.verdict.details += different_targets(runs);
    return judged;
}

} // namespace rekindle::research
