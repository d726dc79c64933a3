#pragma once
/// Turns facts, probes and logs into findings. Pure functions: the same input gives the same findings
/// everywhere.

#include <rekindle/doctor/facts.h>
#include <rekindle/doctor/finding.h>
#include <rekindle/doctor/knowledge.h>
#include <rekindle/doctor/probe.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// The findings for a host, best first; at most one is primary. A healthy host has no finding above
/// Severity::note.
std::vector<Finding> examine_host(const Facts& facts, const std::vector<ProbeResult>& probes,
                                  const Knowledge& knowledge);

/// The relevant lines of a log. A file of any size is read in constant memory (the last `tail` bytes and
/// the first `head`); bytes that are not text become "?"; lines are cut at 8 KiB; terminal colors and
/// carriage-return progress lines are removed.
struct LogText {
    struct Line {
        std::uint64_t number = 0; ///< from 1; 0 when the beginning of the file was skipped
        std::string text;
    };
    std::string name;
    std::vector<Line> lines;
    std::uint64_t bytes = 0;
    bool shortened = false;
};
LogText read_log(const std::filesystem::path& path);
LogText log_from_text(std::string_view text, std::string name);

/// Collects a log while it is being written, in constant memory. Keeps the same lines as read_log() would.
class LogCollector {
  public:
    void append(std::string_view bytes);
    /// The first MiB, or less.
    std::string_view beginning() const noexcept { return head_; }
    /// The log as received so far.
    LogText text(std::string name) const;

  private:
    std::string head_;
    std::string tail_;
    std::uint64_t bytes_ = 0;
    std::uint64_t lines_before_tail_ = 0; ///< lines dropped between head and tail
    bool shortened_ = false;
};

/// How the run ended, as far as its log shows.
enum class Outcome {
    unknown,     ///< nothing shows that it went well
    progressing, ///< it made progress up to the last line, and nothing failed after that
    finished,    ///< it finished
};

/// A log message that a signature recognized, even if it led to no cause.
struct Recognized {
    std::string signature; ///< id in knowledge/signatures
    std::string title;
    std::string means;  ///< what the line means, not why it was printed
    std::string source; ///< "log line 12"
    std::string line;   ///< as printed; truncated if it is long
};

/// A cause that the log suggests but a known fact contradicts.
struct RuledOut {
    std::string cause;
    std::string fact;   ///< key of a condition: "wheel_contains_gfx"
    std::string value;  ///< "true"
    std::string source; ///< where the fact comes from
};

/// A possible cause without enough evidence to report it.
struct Candidate {
    std::string cause;
    double score = 0;                 ///< candidates are sorted by it
    std::vector<std::string> missing; ///< keys of the conditions that would decide
};

struct LogDiagnosis {
    std::vector<Finding> findings;      ///< best first, empty when nothing is recognized
    std::vector<Recognized> recognized; ///< in the order of the log
    std::vector<Candidate> candidates;  ///< best first; causes of findings are left out
    std::vector<RuledOut> ruled_out;
    std::string ending; ///< "KeyError in train.py:77" if the log ends with the program's own exception
    std::vector<std::string> ask;     ///< facts that would help to decide and that such a host has, most
                                      ///< useful first
    std::vector<std::string> noticed; ///< lines that are harmless but often blamed, or that the run survived
    Outcome outcome = Outcome::unknown;
    Facts shown; ///< the facts, plus what the log shows of the system, GPUs and torch where the facts are
                 ///< silent
};
/// Reads the log from the last line up, using what is known of the host (facts may be empty).
LogDiagnosis diagnose_log(const LogText& log, const Facts& facts, const Knowledge& knowledge);

/// Facts from posted text: a case file (only `environment:` is read), plain `key: value` lines (gpu, gfx,
/// os, kernel, torch, rocm, python, container, env, driver, …), or a recorded --json. Throws usage_error
/// that names the line.
Facts read_posted_facts(const std::filesystem::path& path, const Knowledge& knowledge);

} // namespace rekindle::doctor
