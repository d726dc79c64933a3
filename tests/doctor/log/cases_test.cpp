/// The doctor against posted logs whose cause was confirmed: with the host's facts, without them, disguised,
/// and with lines missing.

#include "case_files.h"
#include "log/log_diagnoser.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <set>

namespace rekindle::doctor {
namespace {

const std::vector<CaseFile>& cases() {
    static const std::vector<CaseFile> all = read_case_files(embedded_knowledge());
    return all;
}

LogDiagnosis diagnose(LogDiagnoser& diagnoser, std::string_view log, const Facts& facts) {
    return diagnoser.diagnose(log_from_text(log, "posted"), facts);
}

std::string first_cause(const std::vector<Finding>& findings) {
    return findings.empty() ? "" : findings[0].cause;
}

std::string listed(const LogDiagnosis& diagnosis) {
    std::string text;
    for (const Finding& finding : diagnosis.findings)
        text += fmt::format("\n    {:5.2f}  {}", finding.score, finding.cause);
    return text.empty() ? "\n    nothing" : text;
}

/// The right cause, or unknown with questions; never a wrong cause.
testing::AssertionResult right_or_unknown(const LogDiagnosis& diagnosis, const CaseFile& one) {
    const std::string cause = first_cause(diagnosis.findings);
    if (cause == one.cause)
        return testing::AssertionSuccess();
    // A note says that a line is harmless; it names no cause.
    const bool unknown = cause.empty() || diagnosis.findings[0].severity == Severity::note;
    if (unknown && !diagnosis.ask.empty())
        return testing::AssertionSuccess();
    return testing::AssertionFailure()
           << one.name << ": " << (cause.empty() ? "no questions" : listed(diagnosis)) << "\n  instead of "
           << one.cause;
}

/// Strict for the given cases. A few of the others may lead to another cause: without its most important
/// line, a text can be what another cause prints, too. Their number is printed.
class Tally {
  public:
    void add(const LogDiagnosis& diagnosis, const CaseFile& one, const std::string& what) {
        ++all_;
        const testing::AssertionResult result = right_or_unknown(diagnosis, one);
        if (result)
            return;
        ++others_;
        if (one.given)
            ADD_FAILURE() << result.message() << '\n' << what;
        else
            named_ += fmt::format("  {} ({}): {}\n", one.name, what, first_cause(diagnosis.findings));
    }
    ~Tally() {
        fmt::print("{} of {} texts lead to another cause\n", others_, all_);
        EXPECT_LE(others_ * 10, all_) << named_;
    }

  private:
    std::size_t all_ = 0;
    std::size_t others_ = 0;
    std::string named_;
};

std::string without_line(const std::string& log, std::size_t skipped) {
    std::string text;
    const auto lines = split(log, '\n');
    for (std::size_t i = 0; i < lines.size(); ++i)
        if (i != skipped)
            text += std::string(lines[i]) + "\n";
    return text;
}

TEST(Cases, TheTwentyFourAreThere) {
    EXPECT_EQ(std::count_if(cases().begin(), cases().end(), [](const CaseFile& one) { return one.given; }),
              24);
    for (const CaseFile& one : cases()) {
        EXPECT_NE(embedded_knowledge().cause(one.cause), nullptr) << one.name << ": " << one.cause;
        EXPECT_FALSE(one.thread.empty())
            << one.name << " does not say where it was posted, or which source prints it";
    }
}

/// Prints the table of log + facts, log alone and facts alone.
TEST(Cases, LogAndFactsGiveTheCauseFirst) {
    LogDiagnoser diagnoser(embedded_knowledge());
    std::size_t both = 0;
    std::size_t alone = 0;
    std::size_t facts_only = 0;
    fmt::print("{:<58} {:<12} {:<12} {}\n", "case", "log + facts", "log alone", "facts alone");
    for (const CaseFile& one : cases()) {
        const LogDiagnosis diagnosis = diagnose(diagnoser, one.log, one.facts);
        const std::string with_facts = first_cause(diagnosis.findings);
        const std::string log_alone = first_cause(diagnose(diagnoser, one.log, {}).findings);
        const std::string facts_alone = first_cause(examine_host(one.facts, {}, embedded_knowledge()));
        const auto mark = [&](const std::string& cause) {
            return cause == one.cause ? "right" : cause.empty() ? "unknown" : "other";
        };
        fmt::print("{:<58} {:<12} {:<12} {}\n", one.name, mark(with_facts), mark(log_alone),
                   mark(facts_alone));
        both += with_facts == one.cause ? 1U : 0U;
        alone += log_alone == one.cause ? 1U : 0U;
        facts_only += facts_alone == one.cause ? 1U : 0U;
        EXPECT_EQ(with_facts, one.cause) << one.name << listed(diagnosis);
    }
    fmt::print("{:<58} {:<12} {:<12} {}\n", fmt::format("right of {}", cases().size()), both, alone,
               facts_only);
    std::fflush(stdout);
}

TEST(Cases, ACauseFoundWithoutFactsIsTheRightOne) {
    LogDiagnoser diagnoser(embedded_knowledge());
    for (const CaseFile& one : cases()) {
        const LogDiagnosis diagnosis = diagnose(diagnoser, one.log, {});
        if (!diagnosis.findings.empty() && diagnosis.findings[0].primary) {
            EXPECT_EQ(diagnosis.findings[0].cause, one.cause) << one.name << listed(diagnosis);
        }
    }
}

TEST(Cases, OtherPathsVersionsAndNumbersChangeNothing) {
    LogDiagnoser diagnoser(embedded_knowledge());
    Tally tally;
    for (const CaseFile& one : cases()) {
        const std::string text = disguised(one.log);
        const LogDiagnosis diagnosis = diagnose(diagnoser, text, one.facts);
        tally.add(diagnosis, one, text);
        if (one.given) {
            EXPECT_EQ(first_cause(diagnosis.findings), one.cause) << text;
        }
    }
}

TEST(Cases, WithALineMissingTheCauseStaysOrIsUnknown) {
    LogDiagnoser diagnoser(embedded_knowledge());
    Tally tally;
    for (const CaseFile& one : cases()) {
        const std::size_t lines = split(one.log, '\n').size();
        for (std::size_t i = 0; i < lines; ++i)
            tally.add(diagnose(diagnoser, without_line(one.log, i), one.facts), one,
                      fmt::format("without line {}", i + 1));
    }
}

/// Every line that supports the cause is removed: the rest must not support another one.
TEST(Cases, WithoutTheKeyLinesNoOtherCauseIsNamed) {
    LogDiagnoser diagnoser(embedded_knowledge());
    Tally tally;
    for (const CaseFile& one : cases()) {
        std::string rest;
        for (const std::string_view line : split(one.log, '\n')) {
            const auto ids = diagnoser.signatures_of(line);
            const bool speaks = std::any_of(ids.begin(), ids.end(), [&](const std::string& id) {
                const auto& candidates = embedded_knowledge().signature(id)->candidates;
                return std::any_of(
                    candidates.begin(), candidates.end(),
                    [&](const Signature::Candidate& candidate) { return candidate.cause == one.cause; });
            });
            if (!speaks)
                rest += std::string(line) + "\n";
        }
        tally.add(diagnose(diagnoser, rest, one.facts), one, "without its key lines");
    }
}

TEST(Cases, TerminalsAndLoggingSystemsChangeNothing) {
    LogDiagnoser diagnoser(embedded_knowledge());
    for (const CaseFile& one : cases())
        for (const char* prefix :
             {"\x1b[31m", "> ", "2026-11-21T13:25:01.123Z ", "[rank0]: ", "trainer-1  | "}) {
            std::string text = "  0%|          | 0/30 [00:00<?, ?it/s]\r  3%|#         | 1/30\r\n";
            for (const std::string_view line : split(one.log, '\n'))
                text += prefix + std::string(line) + "\x1b[0m\r\n";
            EXPECT_EQ(first_cause(diagnose(diagnoser, text, one.facts).findings),
                      first_cause(diagnose(diagnoser, one.log, one.facts).findings))
                << one.name << " behind \"" << prefix << '"';
        }
}

/// A rule that only one given case supports is an answer learned by heart.
TEST(Cases, APatternThatFitsOnlyOneGivenCaseHasASecondSource) {
    const Knowledge& knowledge = embedded_knowledge();
    for (const Signature& signature : knowledge.signatures) {
        std::set<std::string> sources;
        for (const Backing& backing : signature.evidence)
            sources.insert(backing.reference);
        for (const std::string& pattern : signature.patterns) {
            LinePatterns one;
            one.add(pattern);
            one.compile();
            std::vector<std::string> fitting;
            std::vector<int> numbers;
            for (const CaseFile& file : cases()) {
                const auto lines = split(file.log, '\n');
                if (file.given && std::any_of(lines.begin(), lines.end(), [&](std::string_view line) {
                        one.match(line, numbers);
                        return !numbers.empty();
                    }))
                    fitting.push_back(file.name);
            }
            if (fitting.size() == 1) {
                EXPECT_GE(sources.size(), 2U)
                    << signature.origin.file << ':' << signature.origin.line << ": \"" << pattern
                    << "\" fits only " << fitting[0] << " and " << signature.id << " has one source";
            }
        }
    }
}

TEST(Cases, AnUnknownLogGivesNoCauseAndAsks) {
    LogDiagnoser diagnoser(embedded_knowledge());
    for (const char* text : {"", "Epoch 1: loss 0.3\nEpoch 2: loss 0.2\nSegmentation fault (core dumped)\n",
                             "Aborted\n", "the program ended early\n"}) {
        const LogDiagnosis diagnosis = diagnose(diagnoser, text, {});
        EXPECT_TRUE(diagnosis.findings.empty()) << text << listed(diagnosis);
        EXPECT_GE(diagnosis.ask.size(), 5U) << text;
    }
}

} // namespace
} // namespace rekindle::doctor
