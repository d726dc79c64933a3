#include "screen.h"

#include <rekindle/base/text.h>
#include <rekindle/cli/text_layout.h>

#include <fmt/format.h>

#include <algorithm>

namespace rekindle::cli {

namespace {

using namespace doctor;

std::string_view word_of(Verdict verdict) {
    switch (verdict) {
    case Verdict::holds:
        return "true";
    case Verdict::wrong:
        return "false";
    case Verdict::harmful:
        return "harmful";
    case Verdict::no_effect:
        return "no effect";
    case Verdict::unknown:
        break;
    }
    return "unknown";
}

std::string sources_of(const std::vector<Backing>& evidence) {
    std::vector<std::string> parts;
    parts.reserve(evidence.size());
    for (const Backing& one : evidence)
        parts.push_back(fmt::format("{}: {}", one.kind, one.reference));
    return fmt::format("{}", fmt::join(parts, "; "));
}

std::string counts_of(const std::vector<Mark>& marks) {
    std::vector<std::string> parts;
    for (const Verdict verdict :
         {Verdict::harmful, Verdict::wrong, Verdict::no_effect, Verdict::unknown, Verdict::holds}) {
        const auto count = std::count_if(marks.begin(), marks.end(),
                                         [&](const Mark& mark) { return mark.verdict == verdict; });
        if (count > 0)
            parts.push_back(fmt::format("{} {}", count, word_of(verdict)));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string shortened(const std::string& text, std::size_t width) {
    if (display_width(text) <= width)
        return text;
    std::string result = text.substr(0, width - 1);
    while (!result.empty() && (static_cast<unsigned char>(result.back()) & 0x80U) != 0)
        result.pop_back();
    return result + "…";
}

/// Footnotes for remarks that several rows share.
class Footnotes {
  public:
    /// "[2]".
    std::string mark(const std::string& note) {
        auto found = std::find(notes_.begin(), notes_.end(), note);
        if (found == notes_.end())
            found = notes_.insert(notes_.end(), note);
        return fmt::format("[{}]", found - notes_.begin() + 1);
    }
    std::string text(std::size_t width) const {
        std::string result = notes_.empty() ? "" : "\n";
        for (std::size_t i = 0; i < notes_.size(); ++i) {
            std::string lines = indented(notes_[i], width, 4);
            const std::string number = fmt::format("[{}]", i + 1);
            lines.replace(0, std::min<std::size_t>(number.size(), 3), number);
            result += lines;
        }
        return result;
    }

  private:
    std::vector<std::string> notes_;
};

} // namespace

std::string render_marks(const std::vector<Mark>& marks, ScreenOptions options) {
    if (marks.empty())
        return "Nothing here that the doctor can check: no variable, version pair, image, gfx name, command "
               "or known claim.\n";
    std::string text = fmt::format("{} checked: {}.\n", counted(marks.size(), "item"), counts_of(marks));
    for (const Mark& mark : marks) {
        text += fmt::format("\nline {}  {}  {}\n", mark.line, word_of(mark.verdict), mark.kind);
        text += fmt::format("  {}\n", shortened(mark.text, options.width > 24 ? options.width - 2 : 22));
        text += indented(mark.reason, options.width, 4);
        if (options.verbose && !mark.evidence.empty())
            text += indented(fmt::format("[{}]", sources_of(mark.evidence)), options.width, 4);
    }
    if (!options.verbose)
        text += "\n-v adds the evidence for each.\n";
    return text;
}

std::string render_matrix(const std::vector<MatrixRow>& rows, std::string_view gfx, ScreenOptions options) {
    std::string text = gfx.empty() ? "torch × index; all known wheels\n"
                                   : fmt::format("torch × index for {}; newest first\n", gfx);
    const auto able =
        std::count_if(rows.begin(), rows.end(), [](const MatrixRow& row) { return row.contains; });
    if (!gfx.empty())
        text += fmt::format("{} of {} {} code for it.\n", able, counted(rows.size(), "wheel"),
                            able == 1 ? "has" : "have");
    text += fmt::format("\n{:<9} {:<16} {:<14} {}\n", "torch", "index", "Python",
                        gfx.empty() ? "" : "code for it");
    Footnotes notes;
    for (const MatrixRow& row : rows) {
        const std::string python = row.python.empty()
                                       ? "not recorded"
                                       : fmt::format("{} to {}", row.python.front(), row.python.back());
        std::string line =
            fmt::format("{:<9} {:<16} {:<14}", row.torch.empty() ? "newest" : row.torch, row.index, python);
        if (!gfx.empty())
            line += row.contains ? " yes" : " no";
        for (const std::string* note : {&row.by_override, &row.note})
            if (!note->empty())
                line += " " + notes.mark(*note);
        text += line + "\n";
        if (options.verbose)
            text +=
                indented(fmt::format("{}; checked {} [{}]", row.url, row.checked, sources_of(row.evidence)),
                         options.width, 10);
    }
    text += notes.text(options.width);
    if (!options.verbose)
        text += "\n-v adds the URL of each index, the date of the check and the source.\n";
    return text;
}

std::string render_options(const std::vector<Option>& options, std::size_t width) {
    std::string text = "Ways to train, free ones first\n";
    for (std::size_t i = 0; i < options.size(); ++i) {
        const Option& option = options[i];
        text += fmt::format("\n{}. {}\n", i + 1, option.title);
        text += indented(option.detail, width, 3);
        if (!option.arithmetic.empty())
            text += indented(option.arithmetic, width, 3);
        if (!option.evidence.empty())
            text += indented(fmt::format("[{}; checked {}]", sources_of(option.evidence), option.checked),
                             width, 3);
    }
    return text;
}

std::string report_markdown(const Report& report, const Knowledge& knowledge) {
    ScreenOptions options{.width = 100, .verbose = true};
    return fmt::format("# rekindle doctor {}\n\nCollected at {} on {}.\n\n```\n{}```\n", report.facts.program,
                       report.facts.read_at.empty() ? "an unknown time" : report.facts.read_at,
                       report.facts.origin.empty() ? "posted facts" : report.facts.origin,
                       render_report(report, knowledge, options));
}

} // namespace rekindle::cli
