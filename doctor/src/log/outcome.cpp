#include "log/outcome.h"

#include "log/clean_line.h"

#include <algorithm>
#include <array>
#include <re2/re2.h>
#include <span>

namespace rekindle::doctor {

namespace {

constexpr std::size_t enough_steps = 2; ///< a single line may be left over from what was running

constexpr std::array<const char*, ProgressPatterns::kinds> expressions{
    // A step, epoch or iteration …
    R"((?:\b(?:epochs?|steps?|iter(?:ation)?s?|batch(?:es)?|it|round|update)\b|"epoch"|'epoch')\W{0,4}\d)",
    // … with a figure that training prints with it.
    R"(\b(?:train_|val_|eval_|test_)?(?:loss|acc(?:uracy)?|ppl|perplexity|lr|learning.?rate|f1|auc|map50|bleu|reward|grad_norm|mse|rmse|iou|wer)\b\W{0,5}\d|(?:it|samples|images|img|tokens?|tok|steps|rows|seq)/s(?:ec)?\b|\bs/it\b|ms/(?:step|batch|iter))",
    // Words that a step that went well does not have.
    R"(\b(?:nan|inf|error|exception|failed|traceback|hang|hung|stuck)\b)",
    // "37%|███▋ | 370/1000 [00:12<00:21": the position of a progress bar.
    R"(\d{1,3}%\|[^|]*\|\s*(\d+)/\d+ \[)",
    // The run finished.
    R"(\b(?:training|train|fit|fine-?tuning|finetune|run|job|benchmark|evaluation|inference|generation|pipeline|trial|all (?:jobs|ranks|epochs|steps|tests)|script|process)\b[^.:]{0,30}\b(?:is |has |was |have )?(?:complete[d]?|finished|succeeded|ended normally|done)\b)"
    R"(|\btrain_runtime\b|`Trainer\.fit` stopped|max_epochs\W.{0,12}reached|\b(?:exit|exited|return|returned)\b.{0,16}\b(?:code|status)?\W{0,3}0\s*$)"
    R"(|\bexit(?:ed)?(?: with)? (?:code|status)\W{0,3}0\b|\b[1-9]\d* passed\b|\[\s*PASSED\s*\]|100% tests passed|\bDestroy COMPLETE\b|Avg bus bandwidth|Result = PASS)"
    R"(|(?:saved|saving|wrote|written)\b.{0,40}\b(?:final|best|last|trained|merged)?\s?(?:model|weights|adapter|results?|predictions|images?)\b.{0,60}\bto\b|\bFinished: SUCCESS\b|\bPrompt executed in\b|\bApplication startup complete\b|\bexecution time\b|^done[.! ]*$|^all done\b|^finished\b|total (?:training )?time\b|Elapsed \(wall clock\))",
    // It did not, in spite of such words.
    R"(\b(?:not|never|cannot|can't|isn't|without|before|fail\w*|error|abort\w*|killed|unsuccessful\w*|[1-9]\d* failed)\b)",
    // Bad news. A count of zero is good news.
    R"(^traceback|\b\w*(?:error|exception)\b\s*:|\b(?:fatal|segmentation fault|core dumped|aborted|panic|killed|unhandled|uncaught)\b|\b(?:hang|hangs|hung|stuck|freezes|frozen|deadlock)\b|\btimed? ?out\b|\bexit(?:ed)?(?: with)? (?:code|status)\W{0,3}-?[1-9]|\b[1-9]\d* failed\b|\bFAILED\b|\bfailed to\b|\bno (?:gpu|device)s?\b.{0,20}\b(?:found|available|detected)\b)",
    // Which process the kernel killed is judged by its signature.
    R"(\bKilled process \d+|\boom[-_]kill|\boom_reaper)",
    // The last line of a traceback.
    R"((?-i)^(?:E\s+)?(?:\w+\.)*\w*(?:Error|Exception|Interrupt)\b\s*(?::|$))",
    // Later reports that a process died, by other processes or the launcher, do not count.
    R"((?-i)ChildFailedError|ProcessRaisedException|ProcessExitedException|CalledProcessError|SignalException|BrokenPipe|Broken pipe|ConnectionReset|Connection (?:reset|closed) by|remote process exited|EOFError|RayTaskError|died with <Signals|Triton compilation failed)",
};

bool any_after(const std::vector<std::size_t>& lines, std::size_t line) {
    return !lines.empty() && lines.back() > line;
}

/// One line, and which of the patterns may match it.
struct Judge {
    const ProgressPatterns& patterns;
    std::span<const int> possible;
    std::string_view whole;
    std::string_view bare; ///< without the prefix of a logging system

    bool is(ProgressPatterns::Kind kind, std::string_view line) const {
        return may_be(kind) && patterns.matches(kind, line);
    }
    bool may_be(ProgressPatterns::Kind kind) const {
        return std::binary_search(possible.begin(), possible.end(), patterns.number(kind));
    }

    bool may_depend_on_prefix() const {
        using enum ProgressPatterns::Kind;
        return may_be(end) || may_be(complaint) || may_be(exception);
    }

    bool is_step() const {
        using enum ProgressPatterns::Kind;
        return may_be(measured) && is(counted, whole) && is(measured, whole) && !is(step_complaint, whole);
    }
    /// -1 for none. A bar that is drawn again when a program dies has not moved.
    long bar_at() const {
        long at = -1;
        if (may_be(ProgressPatterns::Kind::bar))
            RE2::PartialMatch(whole, patterns.expression(ProgressPatterns::Kind::bar), &at);
        return at;
    }
    bool is_end() const {
        using enum ProgressPatterns::Kind;
        return is(end, bare) && !is(not_the_end, bare);
    }
    bool complains(std::string_view line) const {
        using enum ProgressPatterns::Kind;
        return is(complaint, line) && !is(of_the_kernel, line);
    }
    bool is_error() const {
        using enum ProgressPatterns::Kind;
        return is(exception, bare) && !is(consequence, bare);
    }
};

} // namespace

ProgressPatterns::ProgressPatterns(LinePatterns& patterns) : patterns_(patterns) {
    for (std::size_t i = 0; i < kinds; ++i) {
        const int number = patterns.add(expressions[i]);
        if (i == 0)
            first_ = number;
    }
}

Progress::Progress(const LogText& log, const PossibleMatches& possible, const ProgressPatterns& patterns) {
    long furthest = -1;
    for (const PossibleMatches::Line& line : possible.lines) {
        const std::span<const int> numbers = possible.of(line);
        if (std::none_of(numbers.begin(), numbers.end(), [&](int number) { return patterns.owns(number); }))
            continue;
        const std::string_view whole = log.lines[line.index].text;
        Judge judge{patterns, numbers, whole, whole};
        if (judge.may_depend_on_prefix())
            judge.bare = without_prefix(whole);
        const long bar = judge.bar_at();
        if (bar > furthest || (bar == 1 && furthest > 1)) { // the next epoch's bar starts from the beginning
            furthest = bar;
            steps_.push_back(line.index);
        } else if (bar < 0 && judge.is_step()) {
            steps_.push_back(line.index);
        }
        if (judge.is_end())
            ends_.push_back(line.index);
        if (judge.complains(judge.bare) || (judge.bare.size() != whole.size() && judge.complains(whole)))
            last_complaint_ = line.index;
        if (judge.is_error())
            last_error_ = line.index;
    }
}

bool Progress::progressed_after(std::size_t line) const {
    const auto later = steps_.end() - std::upper_bound(steps_.begin(), steps_.end(), line);
    const auto steps = static_cast<std::size_t>(later);
    return steps >= enough_steps || any_after(ends_, line);
}

Outcome Progress::outcome(std::size_t last_failure) const {
    const std::size_t good =
        std::max(ends_.empty() ? 0 : ends_.back() + 1, steps_.empty() ? 0 : steps_.back() + 1);
    const auto before = [&](std::size_t bad) { return bad == npos || bad + 1 < good; };
    if (good == 0 || !before(last_failure) || !before(last_complaint_))
        return Outcome::unknown;
    if (!ends_.empty())
        return Outcome::finished;
    return steps_.size() >= enough_steps ? Outcome::progressing : Outcome::unknown;
}

} // namespace rekindle::doctor
