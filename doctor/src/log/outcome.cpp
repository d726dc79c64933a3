#include "log/outcome.h"

#include "log/clean_line.h"

#include <algorithm>
#include <charconv>
#include <re2/re2.h>

namespace rekindle::doctor {

namespace {

constexpr std::size_t enough_steps = 2; ///< a single line may be left over from what was running

RE2::Options ignoring_case() {
    RE2::Options options(RE2::Quiet);
    options.set_case_sensitive(false);
    return options;
}

/// A step, epoch or iteration with a figure that training prints with it.
bool is_step(std::string_view line) {
    static const RE2 counted(
        R"((?:\b(?:epochs?|steps?|iter(?:ation)?s?|batch(?:es)?|it|round|update)\b|"epoch"|'epoch')\W{0,4}\d)",
        ignoring_case());
    static const RE2 measured(
        R"(\b(?:train_|val_|eval_|test_)?(?:loss|acc(?:uracy)?|ppl|perplexity|lr|learning.?rate|f1|auc|map50|bleu|reward|grad_norm|mse|rmse|iou|wer)\b\W{0,5}\d|(?:it|samples|images|img|tokens?|tok|steps|rows|seq)/s(?:ec)?\b|\bs/it\b|ms/(?:step|batch|iter))",
        ignoring_case());
    static const RE2 complaint(R"(\b(?:nan|inf|error|exception|failed|traceback|hang|hung|stuck)\b)",
                               ignoring_case());
    return RE2::PartialMatch(line, counted) && RE2::PartialMatch(line, measured) &&
           !RE2::PartialMatch(line, complaint);
}

/// "37%|███▋ | 370/1000 [00:12<00:21": the position of a progress bar; -1 for none. A bar that is drawn
/// again when a program dies has not moved.
long bar_at(std::string_view line) {
    static const RE2 bar(R"(\d{1,3}%\|[^|]*\|\s*(\d+)/\d+ \[)", ignoring_case());
    long at = -1;
    RE2::PartialMatch(line, bar, &at);
    return at;
}

bool is_end(std::string_view line) {
    static const RE2 end(
        R"(\b(?:training|train|fit|fine-?tuning|finetune|run|job|benchmark|evaluation|inference|generation|pipeline|trial|all (?:jobs|ranks|epochs|steps|tests)|script|process)\b[^.:]{0,30}\b(?:is |has |was |have )?(?:complete[d]?|finished|succeeded|ended normally|done)\b)"
        R"(|\btrain_runtime\b|`Trainer\.fit` stopped|max_epochs\W.{0,12}reached|\b(?:exit|exited|return|returned)\b.{0,16}\b(?:code|status)?\W{0,3}0\s*$)"
        R"(|\bexit(?:ed)?(?: with)? (?:code|status)\W{0,3}0\b|\b[1-9]\d* passed\b|\[\s*PASSED\s*\]|100% tests passed|\bDestroy COMPLETE\b|Avg bus bandwidth|Result = PASS)"
        R"(|(?:saved|saving|wrote|written)\b.{0,40}\b(?:final|best|last|trained|merged)?\s?(?:model|weights|adapter|results?|predictions|images?)\b.{0,60}\bto\b|\bFinished: SUCCESS\b|\bPrompt executed in\b|\bApplication startup complete\b|\bexecution time\b|^done[.! ]*$|^all done\b|^finished\b|total (?:training )?time\b|Elapsed \(wall clock\))",
        ignoring_case());
    static const RE2 not_the_end(
        R"(\b(?:not|never|cannot|can't|isn't|without|before|fail\w*|error|abort\w*|killed|unsuccessful\w*|[1-9]\d* failed)\b)",
        ignoring_case());
    return RE2::PartialMatch(line, end) && !RE2::PartialMatch(line, not_the_end);
}

/// A line with bad news. A count of zero is good news.
bool is_complaint(std::string_view line) {
    static const RE2 complaint(
        R"(^traceback|\b\w*(?:error|exception)\b\s*:|\b(?:fatal|segmentation fault|core dumped|aborted|panic|killed|unhandled|uncaught)\b|\b(?:hang|hangs|hung|stuck|freezes|frozen|deadlock)\b|\btimed? ?out\b|\bexit(?:ed)?(?: with)? (?:code|status)\W{0,3}-?[1-9]|\b[1-9]\d* failed\b|\bFAILED\b|\bfailed to\b|\bno (?:gpu|device)s?\b.{0,20}\b(?:found|available|detected)\b)",
        ignoring_case());
    static const RE2 of_the_kernel(R"(\bKilled process \d+|\boom[-_]kill|\boom_reaper)", ignoring_case());
    // Which process the kernel killed is judged by its signature.
    return RE2::PartialMatch(line, complaint) && !RE2::PartialMatch(line, of_the_kernel);
}

/// Whether this is the last line of a traceback. Later reports that a process died, by other processes or the
/// launcher, are consequences and do not count.
bool is_error(std::string_view line) {
    static const RE2 exception(R"(^(?:E\s+)?(?:\w+\.)*\w*(?:Error|Exception|Interrupt)\b\s*(?::|$))");
    static const RE2 consequence(
        R"(ChildFailedError|ProcessRaisedException|ProcessExitedException|CalledProcessError|SignalException|BrokenPipe|Broken pipe|ConnectionReset|Connection (?:reset|closed) by|remote process exited|EOFError|RayTaskError|died with <Signals|Triton compilation failed)");
    return RE2::PartialMatch(line, exception) && !RE2::PartialMatch(line, consequence);
}

bool any_after(const std::vector<std::size_t>& lines, std::size_t line) {
    return !lines.empty() && lines.back() > line;
}

} // namespace

Progress::Progress(const LogText& log) {
    long furthest = -1;
    for (std::size_t i = 0; i < log.lines.size(); ++i) {
        const std::string_view whole = log.lines[i].text;
        const std::string_view line = without_prefix(whole);
        const long bar = bar_at(whole);
        if (bar > furthest || (bar == 1 && furthest > 1)) { // the next epoch's bar starts from the beginning
            furthest = bar;
            steps_.push_back(i);
        } else if (bar < 0 && is_step(whole)) {
            steps_.push_back(i);
        }
        if (is_end(line))
            ends_.push_back(i);
        if (is_complaint(line) || is_complaint(whole))
            last_complaint_ = i;
        if (is_error(line))
            last_error_ = i;
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
