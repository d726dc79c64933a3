#include "screen.h"

#include <rekindle/base/text.h>
#include <rekindle/cli/text_layout.h>
#include <rekindle/doctor/lookup_json.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace rekindle::cli {

namespace {

using namespace doctor;

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

/// A quotation keeps at least this many columns, even if that makes the line too long.
constexpr std::size_t shortest_quotation = 12;

/// `before`, the quotation and `after` in one line: only the quotation is shortened, never the place where it
/// is.
std::string quotation(std::string_view before, std::string_view text, std::string_view after,
                      std::size_t width) {
    const std::size_t taken = display_width(before) + display_width(after);
    const std::size_t rest = width > taken + shortest_quotation ? width - taken : shortest_quotation;
    return fmt::format("{}{}{}", before, shortened(text, rest), after);
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

/// Marks with the same verdict and reason, which are shown together.
struct Statement {
    const Mark* first = nullptr;
    std::vector<std::size_t> lines;
    std::vector<std::string_view> texts; ///< without repetitions, in the order of the document
};

constexpr std::array<std::pair<Verdict, std::string_view>, 5> verdict_headings{
    {{Verdict::harmful, "Harmful"},
     {Verdict::wrong, "False"},
     {Verdict::no_effect, "Without effect"},
     {Verdict::unknown, "Not backed by evidence, or unknown"},
     {Verdict::holds, "True"}}};

std::vector<Statement> statements_of(const std::vector<Mark>& marks) {
    std::vector<Statement> statements;
    std::map<std::pair<Verdict, std::string_view>, std::size_t> numbers;
    for (const Mark& mark : marks) {
        const auto [known, added] = numbers.try_emplace({mark.verdict, mark.reason}, statements.size());
        if (added)
            statements.push_back({&mark, {}, {}});
        Statement& statement = statements[known->second];
        if (statement.lines.empty() || statement.lines.back() != mark.line)
            statement.lines.push_back(mark.line);
        if (std::ranges::find(statement.texts, mark.text) == statement.texts.end())
            statement.texts.push_back(mark.text);
    }
    return statements;
}

/// "line 5", "lines 5, 9 and 4 more".
std::string lines_of(const Statement& statement, std::size_t limit) {
    const std::size_t shown = std::min(statement.lines.size(), limit);
    std::string text = fmt::format("{} {}", statement.lines.size() == 1 ? "line" : "lines",
                                   fmt::join(statement.lines.begin(), statement.lines.begin() + shown, ", "));
    return shown == statement.lines.size()
               ? text
               : fmt::format("{} and {} more", text, statement.lines.size() - shown);
}

/// The first sentence. A ". " before a lowercase letter, as in "e.g. this", does not end it.
std::string_view first_sentence(std::string_view text) {
    for (std::size_t at = text.find(". "); at != std::string_view::npos; at = text.find(". ", at + 1))
        if (at + 2 < text.size() && (text[at + 2] < 'a' || text[at + 2] > 'z'))
            return text.substr(0, at + 1);
    return text;
}

/// Reviewed documents are long, so without -v a true statement takes one line, and a reason one sentence
/// unless the statement is harmful.
std::string render_statement(const Statement& statement, const ScreenOptions& options) {
    constexpr std::size_t shortest = 24;
    const bool brief = !options.verbose;
    const std::size_t texts = brief ? 1 : statement.texts.size();
    const std::size_t width = std::max(options.width, shortest);
    std::string text;
    for (std::size_t i = 0; i < texts; ++i) {
        const std::string before =
            i == 0 ? fmt::format("  {}: ", lines_of(statement, brief ? 6 : ~std::size_t{0})) : "      ";
        text += quotation(before, statement.texts[i], "\n", width + 1);
    }
    const Mark& mark = *statement.first;
    if (brief && mark.verdict == Verdict::holds)
        return text;
    const bool whole = !brief || mark.verdict == Verdict::harmful;
    text += indented(whole ? std::string_view(mark.reason) : first_sentence(mark.reason), options.width, 4);
    if (!brief && !mark.evidence.empty())
        text += indented(fmt::format("[{}]", sources_of(mark.evidence)), options.width, 4);
    return text;
}

/// Three lines: how many statements of each verdict, the worst one, and what -v adds.
std::string summary_of(const std::vector<Mark>& marks, const std::vector<Statement>& statements,
                       const ScreenOptions& options) {
    const auto worst = std::ranges::find_if(verdict_headings, [&](const auto& one) {
        return std::ranges::any_of(statements,
                                   [&](const Statement& each) { return each.first->verdict == one.first; });
    });
    const auto example = std::ranges::find_if(
        statements, [&](const Statement& each) { return each.first->verdict == worst->first; });
    const bool good = worst->first == Verdict::holds || worst->first == Verdict::unknown;
    std::string text = fmt::format("{} checked, {}: {}.\n", counted(marks.size(), "item"),
                                   counted(statements.size(), "statement"), counts_of(marks));
    text += good ? std::string("Nothing false or harmful was found.\n")
                 : quotation(worst->first == Verdict::harmful ? "Do not follow: " : "Worst: ",
                             example->texts.front(), fmt::format(" ({})\n", lines_of(*example, 3)),
                             options.width + 1);
    return text + (options.verbose ? "Each judgment has its evidence in brackets.\n"
                                   : "-v shows all lines, whole reasons and the evidence.\n");
}

} // namespace

std::string render_marks(const std::vector<Mark>& marks, ScreenOptions options) {
    if (marks.empty())
        return "Nothing here that the doctor can check: no variable, version pair, image, gfx name, command "
               "or known claim.\n";
    const std::vector<Statement> statements = statements_of(marks);
    std::string text = summary_of(marks, statements, options);
    for (const auto& [verdict, heading] : verdict_headings) {
        std::string section;
        for (const Statement& statement : statements)
            if (statement.first->verdict == verdict)
                section += render_statement(statement, options);
        if (!section.empty())
            text += fmt::format("\n{}\n{}", heading, section);
    }
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
    text += fmt::format("\n{:<9} {:<12} {:<16} {:<14} {}\n", "torch", "torchvision", "index", "Python",
                        gfx.empty() ? "" : "code for it");
    Footnotes notes;
    for (const MatrixRow& row : rows) {
        const std::string python = row.python.empty()
                                       ? "not recorded"
                                       : fmt::format("{} to {}", row.python.front(), row.python.back());
        std::string line = fmt::format("{:<9} {:<12} {:<16} {:<14}", row.torch.empty() ? "newest" : row.torch,
                                       row.torchvision, row.index, python);
        if (!gfx.empty())
            line += row.contains ? " yes" : " no";
        for (const std::string* note : {&row.by_override, &row.note})
            if (!note->empty())
                line += " " + notes.mark(*note);
        text += line + "\n";
        if (options.verbose)
            text += indented(
                fmt::format("{}{}{}; checked {} [{}]", row.url,
                            row.torchaudio.empty() ? "" : "; torchaudio " + row.torchaudio,
                            row.systems.empty() ? "" : fmt::format("; for {}", fmt::join(row.systems, ", ")),
                            row.checked, sources_of(row.evidence)),
                options.width, 10);
    }
    text += notes.text(options.width);
    if (!options.verbose)
        text += "\n-v adds the URL of each index, torchaudio, the systems, the date of the check and the "
                "source.\n";
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
