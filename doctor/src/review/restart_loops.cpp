#include "restart_loops.h"

#include "lines.h"

#include <rekindle/base/text.h>

#include <optional>
#include <re2/re2.h>

namespace rekindle::doctor {
namespace {

constexpr std::size_t longest_condition = 200;
constexpr std::size_t longest_body = 1000;

Judgment endless(std::string_view also) {
    return {
        Verdict::harmful,
        "It starts the same failure again and again and hides its cause, while logs and core files fill the "
        "disk." +
            std::string(also) +
            " Find the cause (rekindle doctor --run -- COMMAND) and limit the number of attempts.",
        {{"documentation", "systemd.unit(5)", "StartLimitBurst= ends such loops after a few attempts"}}};
}

void mark_text(std::string_view document, std::size_t begin, std::size_t end, Judgment judgment,
               std::vector<Found>& found) {
    const std::string_view text = document.substr(begin, end - begin);
    Found one;
    one.begin = begin;
    one.end = end;
    one.mark.line = 1 + static_cast<std::size_t>(std::count(
                            document.begin(), document.begin() + static_cast<std::ptrdiff_t>(begin), '\n'));
    one.mark.kind = "command";
    one.mark.text = printable(trim(text.substr(0, text.find('\n'))), mark_text_limit);
    one.mark.verdict = judgment.verdict;
    one.mark.reason = std::move(judgment.reason);
    one.mark.evidence = std::move(judgment.evidence);
    found.push_back(std::move(one));
}

/// A loop of the shell: "while CONDITION; do BODY; done".
struct Loop {
    bool until = false;
    std::string_view condition;
    std::string_view body;
    std::size_t end = 0; ///< in the document
};

/// Reads the loop whose keyword ends at `at`.
std::optional<Loop> loop_at(std::string_view document, std::size_t at, bool until) {
    static const RE2 start("^([^\\n]*?)\\s*[;\\n]\\s*do\\b");
    static const RE2 stop("\\bdone\\b");
    const std::string_view after = document.substr(at, longest_condition);
    re2::StringPiece condition;
    re2::StringPiece rest = piece(after);
    if (!RE2::Consume(&rest, start, &condition))
        return std::nullopt;
    const std::size_t body = static_cast<std::size_t>(rest.data() - document.data());
    const std::string_view inside = document.substr(body, longest_body);
    re2::StringPiece done;
    if (!stop.Match(piece(inside), 0, inside.size(), RE2::UNANCHORED, &done, 1))
        return std::nullopt;
    const std::size_t length = static_cast<std::size_t>(done.data() - inside.data());
    return Loop{until, trim({condition.data(), condition.size()}), inside.substr(0, length),
                body + length + done.size()};
}

/// Whether the loop ends by itself: it counts, or leaves for another reason than success.
bool is_bounded(std::string_view body) {
    static const RE2 counts("\\s-(ge|gt|le|lt|eq)\\s|\\(\\(|\\bexit\\b");
    static const RE2 leaves("\\bbreak\\b");
    static const RE2 leaves_after_success("&&\\s*break\\b");
    return RE2::PartialMatch(piece(body), counts) ||
           (RE2::PartialMatch(piece(body), leaves) && !RE2::PartialMatch(piece(body), leaves_after_success));
}

/// Whether the condition is the training itself ("until python train.py"), not a test whether something else
/// is ready.
bool is_own_work(std::string_view command) {
    static const RE2 script("\\b(python3?(\\.\\d+)?|uv run)\\s+(-[uOB]\\s+)*[\\w./~$\\{\\}-]+\\.py\\b");
    static const RE2 waits("(?i)(wait|check|ready|health|probe|ping|alive|migrat|status|\\bdb|test)");
    return is_training(command) ||
           (RE2::PartialMatch(piece(command), script) && !RE2::PartialMatch(piece(command), waits));
}

bool is_endless(const Loop& loop) {
    static const RE2 always("^(true|:|1|\\[ 1 \\]|\\[\\[ 1 \\]\\]|\\(\\( ?1 ?\\)\\)|! false)$");
    if (is_bounded(loop.body))
        return false;
    if (loop.until)
        return loop.condition == "false" ? is_training(loop.body) : is_own_work(loop.condition);
    if (loop.condition.starts_with("! "))
        return is_own_work(loop.condition);
    return RE2::FullMatch(piece(loop.condition), always) && is_training(loop.body);
}

void mark_shell_loops(std::string_view document, std::vector<Found>& found) {
    static const RE2 keyword("\\b(while|until|for \\(\\(\\s*;\\s*;\\s*\\)\\))(?:\\s|;)");
    static const RE2 other_shell("(?i)while\\s*\\(\\$true\\)\\s*\\{([^}]{1,400})\\}");
    re2::StringPiece rest = piece(document);
    std::string word;
    while (RE2::FindAndConsume(&rest, keyword, &word)) {
        const std::size_t at = static_cast<std::size_t>(rest.data() - document.data()) - 1;
        const std::size_t begin = at - word.size();
        if (word.starts_with("for"))
            word = "while";
        auto loop = loop_at(document, at, word == "until");
        if (loop && begin + 5 < at && document.substr(begin, 3) == "for")
            loop->condition = "true";
        if (!loop || !is_endless(*loop))
            continue;
        mark_text(document, begin, loop->end, endless(""), found);
        rest.remove_prefix(loop->end - at - 1);
    }
    rest = piece(document);
    re2::StringPiece body;
    while (RE2::FindAndConsume(&rest, other_shell, &body))
        if (is_training({body.data(), body.size()})) {
            const std::size_t end = static_cast<std::size_t>(rest.data() - document.data());
            const std::size_t begin =
                document.rfind("while", static_cast<std::size_t>(body.data() - document.data()));
            mark_text(document, begin == std::string_view::npos ? end - 1 : begin, end, endless(""), found);
        }
}

/// "Restart=always" beside an ExecStart that trains.
void mark_units(std::string_view document, std::vector<Found>& found) {
    std::optional<Line> restart;
    bool trains = false;
    const auto finish = [&] {
        if (restart && trains)
            mark_text(document, restart->begin, restart->begin + restart->text.size(),
                      endless(" It also starts a run again that has finished."), found);
        restart.reset();
        trains = false;
    };
    for (const Line& line : lines_of(document)) {
        const std::string_view text = trim(line.text);
        if (text.starts_with('[') || text.starts_with("```"))
            finish();
        else if (text.starts_with("ExecStart="))
            trains = is_training(text.substr(10));
        else if (text == "Restart=always")
            restart = line;
    }
    finish();
}

} // namespace

bool is_training(std::string_view command) {
    static const RE2 program("(?i)(\\b(python3?(\\.\\d+)?|torchrun|deepspeed|mpirun|srun|accelerate\\s+"
                             "launch|uv\\s+run|bash|sh|docker|podman|"
                             "composer|colossalai|horovodrun)\\b|\\./"
                             ")[^\\n;&|]*?(train|fine-?_?tun|pretrain|\\bfit\\.py|\\bmain\\.py)|"
                             "\\b(torchrun|deepspeed|accelerate\\s+launch)\\s");
    static const RE2 server(
        "(?i)\\b(tensorboard|mlflow|jupyter|serve|server|uvicorn|gunicorn|streamlit|gradio)\\b");
    return RE2::PartialMatch(piece(command), program) && !RE2::PartialMatch(piece(command), server);
}

void mark_restart_loops(std::string_view document, std::vector<Found>& found) {
    mark_shell_loops(document, found);
    mark_units(document, found);
}

} // namespace rekindle::doctor
