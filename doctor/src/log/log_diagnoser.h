#pragma once
/// The engine behind diagnose_log: signatures found in a log, weighted by what is known about the host.
///
/// A signature that some line matches contributes its candidates. A candidate counts strength × state:
///   strength  decisive 8, strong 4, likely 3, possible 2;
///   state     its condition holds 1.25, it has none 1, a fact for it is missing 0.45, it is violated 0
///   (out).
/// A cause gets the value of its best candidate, plus a quarter of the value of each further signature that
/// leads to it. Equal causes are ordered by how close to the end of the log they show. A cause below
/// `finding_threshold` is not reported; the facts that would have decided are asked for. Harmless lines are
/// noticed; a candidate that they have is a note and comes after everything else. What a run survived
/// (outcome.h) is noticed too, and leads to no cause, unless it is lasting; a cause that the facts rule out
/// (`unless`) is not named either. The first cause is marked as the primary one only if it has a clear lead
/// and is corroborated: by a decisive message, by a strong message that a known fact supports, or by strong
/// messages in two lines.

#include "conditions/evaluate.h"
#include "log/line_patterns.h"
#include "log/log_facts.h"
#include "log/outcome.h"

#include <rekindle/doctor/diagnosis.h>

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

constexpr double finding_threshold = 2.25;
/// From this score on, with a clear lead and corroborated, the first finding is the primary one.
constexpr double primary_threshold = 4;

/// Patterns compiled once for many logs. Keeps a reference to the knowledge. Not thread-safe.
class LogDiagnoser {
  public:
    explicit LogDiagnoser(const Knowledge& knowledge);
    LogDiagnosis diagnose(const LogText& log, const Facts& facts);
    /// The needed texts of all patterns, for Knowledge::needed_texts.
    LinePatterns::Known needed_texts() const;
    /// The ids of the signatures whose patterns match `line`.
    std::vector<std::string> signatures_of(std::string_view line) const;

  private:
    struct Hit {
        const Signature* signature = nullptr;
        std::size_t first = 0; ///< index of the first line
        std::size_t last = 0;  ///< index of the last line
        std::size_t count = 0;
        bool survived = false; ///< the run continued after the last of them
    };
    struct Scan {
        std::vector<Hit> hits; ///< for each signature, in the order of the knowledge; count 0: not found
        Situation situation;
        Progress progress;
    };
    struct Weighed;

    Scan scan(const LogText& log, const Facts& facts);
    /// Whether the log and the facts contain nothing that the signature excludes.
    static bool counts(const Hit& hit, const Scan& scan);
    /// The log's own part of a scan: signatures, progress, facts that it shows.
    void scan_lines(const LogText& log, Scan& scan);
    void scan_line(std::size_t index, const LogText::Line& line, std::span<const int> possible, Scan& scan);
    /// Of the patterns in conditions that decide what the hits mean: those that the log or the kernel's log
    /// matches.
    std::set<std::string, std::less<>> conditions_of(const LogText& log, const Facts& facts,
                                                     const std::vector<Hit>& hits) const;
    /// The line without the prefix of a logging system, if patterns can see the difference.
    std::string_view bare_line(std::string_view line) const;
    /// Returns the fact that rules the cause out for every signature; empty if there is none.
    std::optional<RuledOut> fact_against(const std::string& cause, const Situation& situation) const;
    void weigh(const Hit& hit, const Situation& situation, std::vector<Weighed>& weighed,
               std::vector<RuledOut>& ruled_out) const;
    static std::vector<Recognized> recognized_in(const Scan& scan, const LogText& log);
    static Candidate candidate_of(const Weighed& weighed);
    static void keep_one_each(std::vector<RuledOut>& ruled_out, const std::vector<Weighed>& weighed);
    Finding finding_of(const Weighed& weighed, const LogText& log, const Situation& situation) const;

    const Knowledge& knowledge_;
    LinePatterns patterns_;
    LogFacts log_facts_;
    ProgressPatterns progress_patterns_;
    std::vector<int> signature_of_; ///< pattern number → signature index, -1 for others
    bool anchored_ = false;         ///< at least one pattern is anchored to the start of a line
};

} // namespace rekindle::doctor
