#include "log/log_diagnoser.h"

#include "log/clean_line.h"
#include "log/derived_keys.h"
#include "log/ending.h"
#include "log/host_situation.h"
#include "log/questions.h"
#include "log/shown_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace rekindle::doctor {
namespace {

constexpr std::size_t shown_line_bytes = 400;
constexpr double clear_lead = 0.8;     ///< maximum score of the second cause, as a share of the first one's
constexpr std::size_t paragraph = 600; ///< bytes; a longer line is a whole log in one line

double weight_of(std::string_view strength) {
    return strength == "decisive" ? 8 : strength == "strong" ? 4 : strength == "likely" ? 3 : 2;
}

double factor_of(const Condition& condition, Truth truth) {
    if (condition.key.empty())
        return 1;
    return truth == Truth::yes ? 1.25 : truth == Truth::unknown ? 0.45 : 0;
}

std::string place_of(const LogText::Line& line) {
    return line.number == 0 ? "log" : fmt::format("log line {}", line.number);
}

std::string shortened(const std::string& text) {
    if (text.size() <= shown_line_bytes)
        return text;
    std::size_t end = shown_line_bytes;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
        --end;
    return text.substr(0, end) + "…";
}

void add_once(std::vector<std::string>& to, std::string text) {
    if (!text.empty() && std::find(to.begin(), to.end(), text) == to.end())
        to.push_back(std::move(text));
}

/// AMD's targets begin with "gfx", NVIDIA's with "sm": code for one does not run on the other.
void add_targets(Finding& finding, const Situation& situation) {
    for (const std::string_view key : {"message_gfx", "gfx"}) {
        const Situation::Known* known = situation.find(key);
        if (known == nullptr)
            continue;
        for (const std::string& target : known->values) // includes names of architectures
            for (const std::string_view prefix : {"gfx", "sm_"})
                if (target.starts_with(prefix))
                    finding.parameters.try_emplace(prefix == "gfx" ? "gfx" : "sm", target);
    }
}

/// Whether the host or the log shows GPUs or libraries of known vendors, and none of them is in this list.
/// The log counts in addition to the host, because it may come from another host.
bool is_of_absent_vendor(const std::vector<std::string>& vendors, const Situation& situation) {
    const auto shows = [&](const std::string& vendor) {
        return situation.has("vendor", vendor) || situation.has("vendor_shown", vendor) ||
               (vendor == "amd" && situation.has("torch_kind", "rocm"));
    };
    const bool known = situation.find("vendor") != nullptr || situation.find("vendor_shown") != nullptr;
    return !vendors.empty() && known && std::none_of(vendors.begin(), vendors.end(), shows);
}

/// Formats the values of a fact, whole numbers without a decimal point.
std::string text_of(const Situation::Known& known) {
    std::string text = fmt::format("{}", fmt::join(known.values, ", "));
    if (text.ends_with(".0000"))
        text.resize(text.size() - 5);
    return text;
}

/// Returns the first key with a known fact. Only facts rule a cause out; the words of a log do not.
std::optional<RuledOut> ruled_out_by(const std::string& cause, const std::vector<std::string>& keys,
                                     const Situation& situation) {
    for (const std::string& key : keys)
        if (const Situation::Known* known = situation.find(key))
            return RuledOut{cause, key, text_of(*known), known->source};
    return std::nullopt;
}

/// The compiled extension that a line names, as pip calls it; "" when there is none.
std::string extension_in(std::string_view line) {
    static const std::pair<const char*, const char*> extensions[]{
        {"bitsandbytes", "bitsandbytes"}, {"flash_attn", "flash-attn"},
        {"flash-attn", "flash-attn"},     {"xformers", "xformers"},
        {"deepspeed", "deepspeed"},       {"causal_conv1d", "causal-conv1d"},
        {"mamba_ssm", "mamba-ssm"},       {"torch_scatter", "torch-scatter"},
        {"torch_sparse", "torch-sparse"}, {"torchvision", "torchvision"},
        {"torchaudio", "torchaudio"}};
    for (const auto& [part, package] : extensions)
        if (line.find(part) != std::string_view::npos)
            return package;
    return "";
}

} // namespace

/// A cause with everything that supports it.
struct LogDiagnoser::Weighed {
    struct Support {
        const Hit* hit = nullptr;
        const Signature::Candidate* candidate = nullptr;
        ConditionVerdict verdict;
        double weight = 0;
    };
    std::string cause;
    std::vector<Support> support; ///< the best candidate of each signature, strongest first
    double score = 0;
    std::size_t last = 0; ///< index of the last line that supports it
    bool note = false;    ///< supported by harmless lines only

    /// Whether a decisive message proves the cause, a known fact supports a strong message, or two lines have
    /// strong messages. What the log itself says does not count as a known fact.
    bool corroborated() const {
        std::set<std::size_t> lines;
        for (const Support& one : support) {
            const std::string& strength = one.candidate->strength;
            const auto is_fact = [](const std::string& key) { return key != "log"; };
            if (strength == "decisive")
                return true;
            if (strength != "strong")
                continue;
            const std::vector<std::string>& used = one.verdict.used;
            if (one.verdict.truth == Truth::yes && std::any_of(used.begin(), used.end(), is_fact))
                return true;
            if (one.weight >= weight_of("strong"))
                lines.insert(one.hit->last);
        }
        return lines.size() >= 2;
    }

    void add_up() {
        std::stable_sort(support.begin(), support.end(),
                         [](const Support& a, const Support& b) { return a.weight > b.weight; });
        note = std::all_of(support.begin(), support.end(),
                           [](const Support& one) { return one.hit->signature->harmless; });
        score = 0;
        double share = 1;
        for (const Support& one : support) {
            if (one.hit->signature->harmless && !note)
                continue; // it accompanies all causes equally
            last = std::max(last, one.hit->last);
            score += one.weight * share;
            share = 0.25;
        }
    }
};

namespace {

/// Whether a pattern matches a line, with or without the prefix of a logging system.
bool matches(const LinePatterns& patterns, int number, std::string_view line, std::string_view bare) {
    return patterns.matches(number, line) || patterns.matches_only_rest(number, line, bare);
}

bool is_anchored(const std::string& pattern) {
    return pattern.find('^') != std::string::npos;
}

void keep_distinct(std::vector<std::string>& texts) {
    std::sort(texts.begin(), texts.end());
    texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
}

/// The patterns of `log` conditions that decide what a signature means.
void collect_conditions(const Signature& signature, const Knowledge& knowledge,
                        std::vector<std::string>& patterns) {
    collect_log_patterns(signature.unless, patterns);
    for (const Signature::Candidate& candidate : signature.candidates) {
        collect_log_patterns(candidate.when, patterns);
        if (const Cause* cause = knowledge.cause(candidate.cause))
            collect_log_patterns(cause->unless, patterns);
    }
}

} // namespace

LogDiagnoser::LogDiagnoser(const Knowledge& knowledge)
    : knowledge_(knowledge), patterns_(knowledge.needed_texts), log_facts_(patterns_),
      progress_patterns_(patterns_) {
    signature_of_.resize(patterns_.size(), -1);
    std::vector<std::string> conditions;
    for (std::size_t i = 0; i < knowledge.signatures.size(); ++i) {
        const Signature& signature = knowledge.signatures[i];
        for (const std::string& pattern : signature.patterns)
            if (patterns_.add(pattern) >= 0) {
                signature_of_.push_back(static_cast<int>(i));
                anchored_ = anchored_ || is_anchored(pattern);
            }
        collect_log_patterns(signature.unless, conditions);
        for (const Signature::Candidate& candidate : signature.candidates)
            collect_log_patterns(candidate.when, conditions);
    }
    for (const Cause& cause : knowledge.causes)
        collect_log_patterns(cause.unless, conditions);
    anchored_ = anchored_ || std::any_of(conditions.begin(), conditions.end(), is_anchored);
    patterns_.compile();
}

LinePatterns::Known LogDiagnoser::needed_texts() const {
    std::vector<std::string> conditions;
    for (const Signature& signature : knowledge_.signatures)
        collect_conditions(signature, knowledge_, conditions);
    keep_distinct(conditions);
    LinePatterns patterns(knowledge_.needed_texts);
    for (const std::string& pattern : conditions)
        patterns.add(pattern);
    LinePatterns::Known known = patterns_.known();
    known.merge(patterns.known());
    return known;
}

std::string_view LogDiagnoser::bare_line(std::string_view line) const {
    return anchored_ ? without_prefix(line) : line;
}

std::vector<std::string> LogDiagnoser::signatures_of(std::string_view line) const {
    std::vector<int> possible;
    patterns_.find_possible(line, possible);
    std::vector<std::string> ids;
    const std::string_view bare = bare_line(line);
    for (const int number : possible)
        if (const int signature = signature_of_[static_cast<std::size_t>(number)];
            signature >= 0 && matches(patterns_, number, line, bare))
            add_once(ids, knowledge_.signatures[static_cast<std::size_t>(signature)].id);
    return ids;
}

/// Skips patterns whose match would change nothing: those of facts that were seen often enough, and those of
/// a signature that already matched this line with another pattern.
void LogDiagnoser::scan_line(std::size_t index, const LogText::Line& line, std::span<const int> possible,
                             Scan& scan) {
    const std::string_view bare = bare_line(line.text);
    std::vector<std::size_t> found; // signatures
    bool harmless = false;
    for (const int number : possible) {
        if (progress_patterns_.owns(number))
            continue;
        if (log_facts_.owns(number)) {
            if (log_facts_.wants(number) && matches(patterns_, number, line.text, bare))
                log_facts_.take(number, line.text, place_of(line), knowledge_);
            continue;
        }
        const auto place = static_cast<std::size_t>(signature_of_[static_cast<std::size_t>(number)]);
        if ((!found.empty() && found.back() == place) || !matches(patterns_, number, line.text, bare))
            continue;
        found.push_back(place);
        harmless = harmless || knowledge_.signatures[place].harmless;
    }
    for (const std::size_t signature : found) {
        Hit& hit = scan.hits[signature];
        // A line that is known to be harmless stays harmless if another signature matches it too.
        if (harmless && !hit.signature->harmless && line.text.size() <= paragraph)
            continue;
        hit.first = index;
        hit.last = hit.count++ == 0 ? index : hit.last;
    }
}

void LogDiagnoser::scan_lines(const LogText& log, Scan& scan) {
    const PossibleMatches possible = patterns_.find_possible(log);
    scan.progress = Progress(log, possible, progress_patterns_);
    log_facts_.clear();
    for (auto line = possible.lines.rbegin(); line != possible.lines.rend(); ++line)
        scan_line(line->index, log.lines[line->index], possible.of(*line), scan);
}

std::set<std::string, std::less<>> LogDiagnoser::conditions_of(const LogText& log, const Facts& facts,
                                                               const std::vector<Hit>& hits) const {
    std::vector<std::string> conditions;
    for (const Hit& hit : hits)
        if (hit.count > 0)
            collect_conditions(*hit.signature, knowledge_, conditions);
    keep_distinct(conditions);
    LinePatterns patterns(knowledge_.needed_texts);
    std::erase_if(conditions, [&](const std::string& pattern) { return patterns.add(pattern) < 0; });
    patterns.compile();
    std::set<std::string, std::less<>> holding;
    const auto look_at = [&](std::string_view line, std::span<const int> possible) {
        const std::string_view bare = bare_line(line);
        for (const int number : possible)
            if (const std::string& condition = conditions[static_cast<std::size_t>(number)];
                !holding.contains(condition) && matches(patterns, number, line, bare))
                holding.insert(condition);
    };
    if (conditions.empty())
        return holding;
    const PossibleMatches possible = patterns.find_possible(log);
    for (const PossibleMatches::Line& line : possible.lines)
        look_at(log.lines[line.index].text, possible.of(line));
    std::vector<int> numbers;
    for (const std::string& line : facts.kernel_log.lines.value_or({})) {
        patterns.find_possible(line, numbers);
        look_at(line, numbers);
    }
    return holding;
}

LogDiagnoser::Scan LogDiagnoser::scan(const LogText& log, const Facts& facts) {
    Scan scan;
    scan.hits.resize(knowledge_.signatures.size());
    for (std::size_t i = 0; i < scan.hits.size(); ++i)
        scan.hits[i].signature = &knowledge_.signatures[i];
    scan_lines(log, scan);
    for (Hit& hit : scan.hits)
        hit.survived = hit.count > 0 && !hit.signature->lasting && !hit.signature->harmless &&
                       scan.progress.progressed_after(hit.last);
    scan.situation = stated_by(facts, knowledge_);
    add_shown(scan.situation, log_facts_.shown(), knowledge_);
    derive(scan.situation, knowledge_);
    scan.situation.log_patterns = conditions_of(log, facts, scan.hits);
    for (Hit& hit : scan.hits)
        if (hit.count > 0 && !counts(hit, scan))
            hit.count = 0;
    return scan;
}

bool LogDiagnoser::counts(const Hit& hit, const Scan& scan) {
    const Signature& signature = *hit.signature;
    if (signature.last_error && scan.progress.error_after(hit.last))
        return false;
    return signature.unless.key.empty() || evaluate(signature.unless, scan.situation).truth != Truth::yes;
}

std::optional<RuledOut> LogDiagnoser::fact_against(const std::string& cause,
                                                   const Situation& situation) const {
    const Cause* known = knowledge_.cause(cause);
    if (known == nullptr)
        return std::nullopt;
    if (is_of_absent_vendor(known->vendors, situation))
        return ruled_out_by(cause, {"vendor", "vendor_shown"}, situation);
    if (known->unless.key.empty())
        return std::nullopt;
    const ConditionVerdict verdict = evaluate(known->unless, situation);
    if (verdict.truth != Truth::yes)
        return std::nullopt;
    return ruled_out_by(cause, verdict.used, situation).value_or(RuledOut{cause, "log", "", "log"});
}

void LogDiagnoser::weigh(const Hit& hit, const Situation& situation, std::vector<Weighed>& weighed,
                         std::vector<RuledOut>& ruled_out) const {
    for (const Signature::Candidate& candidate : hit.signature->candidates) {
        if (std::optional<RuledOut> against = fact_against(candidate.cause, situation)) {
            ruled_out.push_back(*std::move(against));
            continue;
        }
        ConditionVerdict verdict = evaluate(candidate.when, situation);
        const double weight = weight_of(candidate.strength) * factor_of(candidate.when, verdict.truth);
        if (weight <= 0) {
            if (std::optional<RuledOut> against = ruled_out_by(candidate.cause, verdict.used, situation))
                ruled_out.push_back(*std::move(against));
            continue;
        }
        auto found = std::find_if(weighed.begin(), weighed.end(),
                                  [&](const Weighed& other) { return other.cause == candidate.cause; });
        if (found == weighed.end()) {
            found = weighed.emplace(weighed.end());
            found->cause = candidate.cause;
        }
        Weighed::Support support{&hit, &candidate, std::move(verdict), weight};
        const auto same = std::find_if(found->support.begin(), found->support.end(),
                                       [&](const Weighed::Support& other) { return other.hit == &hit; });
        if (same == found->support.end())
            found->support.push_back(std::move(support));
        else if (same->weight < weight)
            *same = std::move(support);
    }
}

Finding LogDiagnoser::finding_of(const Weighed& weighed, const LogText& log,
                                 const Situation& situation) const {
    Finding finding;
    finding.cause = weighed.cause;
    finding.score = weighed.score;
    if (const Cause* cause = knowledge_.cause(weighed.cause)) {
        finding.severity = cause->severity;
        finding.statement = cause->sentence;
        finding.distinguishing_checks = cause->distinguishing_checks;
    }
    if (weighed.note)
        finding.severity = Severity::note;
    std::vector<std::string> used;
    for (const Weighed::Support& support : weighed.support) {
        const Hit& hit = *support.hit;
        const std::string title = hit.signature->title.empty() ? hit.signature->means : hit.signature->title;
        const std::string times = hit.count > 1 ? fmt::format(" ({} lines)", hit.count) : "";
        finding.evidence.push_back(
            {title + times, place_of(log.lines[hit.last]), shortened(log.lines[hit.last].text)});
        finding.signatures.push_back(hit.signature->id);
        for (const std::string& key : support.verdict.used)
            add_once(used, key);
    }
    for (const std::string& key : used)
        if (const Situation::Known* known = situation.find(key))
            finding.evidence.push_back(
                {key, known->source, fmt::format("{}", fmt::join(known->values, ", "))});
    add_targets(finding, situation);
    for (const Evidence& line : finding.evidence)
        if (const std::string package = extension_in(line.value); !package.empty())
            finding.parameters.try_emplace("package", package);
    return finding;
}

namespace {

/// The last line that reports a failure: from a signature that is not harmless and that the run did not
/// survive.
template <class Hits>
std::size_t last_failure(const Hits& hits) {
    std::size_t last = Progress::npos;
    for (const auto& hit : hits)
        if (hit.count > 0 && !hit.signature->harmless && !hit.survived)
            last = last == Progress::npos ? hit.last : std::max(last, hit.last);
    return last;
}

} // namespace

std::vector<Recognized> LogDiagnoser::recognized_in(const Scan& scan, const LogText& log) {
    std::vector<const Hit*> hits;
    for (const Hit& hit : scan.hits)
        if (hit.count > 0)
            hits.push_back(&hit);
    std::stable_sort(hits.begin(), hits.end(), [](const Hit* a, const Hit* b) { return a->last < b->last; });
    std::vector<Recognized> recognized;
    for (const Hit* hit : hits)
        recognized.push_back({hit->signature->id, hit->signature->title, hit->signature->means,
                              place_of(log.lines[hit->last]), shortened(log.lines[hit->last].text)});
    return recognized;
}

Candidate LogDiagnoser::candidate_of(const Weighed& weighed) {
    Candidate candidate{weighed.cause, weighed.score, {}};
    for (const Weighed::Support& support : weighed.support)
        for (const std::string& key : support.verdict.missing)
            add_once(candidate.missing, key);
    return candidate;
}

/// Keeps each cause once and drops those that another message supports.
void LogDiagnoser::keep_one_each(std::vector<RuledOut>& ruled_out, const std::vector<Weighed>& weighed) {
    std::set<std::string> seen;
    for (const Weighed& one : weighed)
        seen.insert(one.cause);
    std::erase_if(ruled_out, [&](const RuledOut& one) { return !seen.insert(one.cause).second; });
}

LogDiagnosis LogDiagnoser::diagnose(const LogText& log, const Facts& facts) {
    const Scan found = scan(log, facts);
    std::vector<Weighed> weighed;
    LogDiagnosis diagnosis;
    diagnosis.shown = with_shown(facts, found.situation, knowledge_);
    const Ground ground = ground_of(diagnosis.shown, found.situation);
    Questions questions(ground);
    diagnosis.recognized = recognized_in(found, log);
    diagnosis.ending = program_ending(log);
    for (const Hit& hit : found.hits) {
        if (hit.count == 0)
            continue;
        if (hit.survived) {
            diagnosis.noticed.push_back(fmt::format("{}: {} (the run continued after it)",
                                                    place_of(log.lines[hit.last]),
                                                    shortened(log.lines[hit.last].text)));
            continue;
        }
        weigh(hit, found.situation, weighed, diagnosis.ruled_out);
        for (const std::string& question : hit.signature->ask)
            if (condition_key(question) == nullptr)
                questions.add(question, 0.5);
            else if (found.situation.find(question) == nullptr)
                questions.add_key(question, 0.5);
        if (hit.signature->harmless)
            diagnosis.noticed.push_back(fmt::format("{}: {} ({})", place_of(log.lines[hit.last]),
                                                    shortened(log.lines[hit.last].text),
                                                    hit.signature->means));
    }
    for (Weighed& one : weighed) {
        one.add_up();
        for (const Weighed::Support& support : one.support)
            for (const std::string& key : support.verdict.missing)
                questions.add_key(key, support.weight);
    }
    std::stable_sort(weighed.begin(), weighed.end(), [](const Weighed& a, const Weighed& b) {
        return std::tuple(a.note, -a.score, b.last) < std::tuple(b.note, -b.score, a.last);
    });
    for (const Weighed& one : weighed)
        if (one.score >= finding_threshold)
            diagnosis.findings.push_back(finding_of(one, log, found.situation));
        else
            diagnosis.candidates.push_back(candidate_of(one));
    keep_one_each(diagnosis.ruled_out, weighed);
    std::vector<Finding>& findings = diagnosis.findings;
    if (!findings.empty() && findings[0].severity != Severity::note &&
        findings[0].score >= primary_threshold && weighed[0].corroborated() &&
        (findings.size() == 1 || findings[1].severity == Severity::note ||
         findings[1].score <= clear_lead * findings[0].score))
        findings[0].primary = true;
    const bool explained = !findings.empty() && findings[0].severity != Severity::note;
    diagnosis.outcome = explained ? Outcome::unknown : found.progress.outcome(last_failure(found.hits));
    const Situation::Known* killed = found.situation.find("killed");
    const bool another_program = killed != nullptr && weighed.empty() && !found.progress.complains();
    if (another_program)
        diagnosis.noticed.push_back(fmt::format("{}: the kernel killed {}, which is another program",
                                                killed->source, fmt::join(killed->values, " and ")));
    const bool well = diagnosis.outcome != Outcome::unknown || another_program;
    if (!explained)
        questions.add_general(found.situation);
    if (!well && (!explained || !findings[0].primary))
        diagnosis.ask = questions.most_useful_first();
    for (Finding& finding : findings)
        finding.distinguishing_checks = questions_for(finding.distinguishing_checks, ground);
    return diagnosis;
}

LogDiagnosis diagnose_log(const LogText& log, const Facts& facts, const Knowledge& knowledge) {
    return LogDiagnoser(knowledge).diagnose(log, facts);
}

} // namespace rekindle::doctor
