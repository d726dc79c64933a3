/// Every string of a report reaches the screen: each gets a mark, and each mark must be printed.

#include "doctor/screen.h"

#include <rekindle/doctor/knowledge.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <marked_report.h>

namespace rekindle::cli {
namespace {

using doctor::Report;
using test::has_parts;
using test::ReportStrings;

/// Strings whose names have all of these parts are not shown, for this reason.
struct Unshown {
    std::vector<std::string_view> parts;
    const char* reason;
};
using UnshownList = std::vector<Unshown>;

/// With -v.
const UnshownList never_shown{
    {{"findings[", ".devices["}, "the statement names the device"},
    {{"findings[", ".signatures["}, "the evidence shows the line"},
    {{"findings[", ".remedies["}, "the plan shows the steps"},
    {{"findings[", ".parameters."}, "filled into the steps"},
    {{"findings[2].cause"}, "nothing is looked up for a note"},
    {{"plan.steps[", ".why"}, "the finding says it; --fix shows it next to the step"},
    {{"plan.steps[", ".cause"}, "the finding says it"},
    {{"plan.steps[", ".environment"}, "in its commands"},
    {{"probes[", ".errors"}, "up to 4 KiB; --json has it"},
    {{"probes[", ".values."}, "for programs; --json has it"},
    {{"log"}, "the person named it"},
    {{"recognized["}, "only for a log whose cause is unknown"},
    {{"candidates["}, "only for a log whose cause is unknown, by the titles of the causes"},
    {{"ruled_out["}, "by the titles of the causes, which a mark does not have"},
};

/// Without -v, in addition.
const UnshownList only_with_verbose{
    {{"findings[", ".distinguishing_checks["}, "-v"},
    {{"findings[", ".evidence[1]"}, "-v"},
    {{"findings[", ".evidence[0].source"}, "-v"},
    {{"findings[2].evidence["}, "-v"},
    {{"plan.steps[1].changes"}, "-v, because its commands show it"},
    {{"plan.steps[2].changes"}, "-v, because its commands show it"},
    {{"plan.steps[", ".undo["}, "-v"},
    {{"plan.steps[3]"}, "-v; the screen says how many more there are"},
    {{"plan.steps[4]"}, "-v; the screen says how many more there are"},
    {{"plan.verification_stages["}, "-v"},
    {{"probes["}, "-v"},
};

/// With a log: its host is not this one.
const UnshownList not_with_a_log{{{"devices["}, "`rekindle doctor` shows them"}};

UnshownList both_lists(UnshownList first, const UnshownList& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

bool is_unshown(const std::string& name, const UnshownList& list) {
    return std::any_of(list.begin(), list.end(),
                       [&](const Unshown& one) { return has_parts(name, one.parts); });
}

/// Mark → name of its string.
std::map<std::string, std::string> mark(Report& report) {
    std::map<std::string, std::string> names;
    const ReportStrings strings([&](const std::string& name, std::string& text) {
        text = fmt::format("mark{:04}", names.size());
        names[text] = name;
    });
    strings(report);
    return names;
}

void expect_all(const std::map<std::string, std::string>& names, const std::string& text,
                const UnshownList& unshown) {
    EXPECT_GE(names.size(), 50U);
    for (const auto& [mark, name] : names)
        EXPECT_EQ(text.find(mark) != std::string::npos, !is_unshown(name, unshown)) << name;
}

std::string on_screen(const Report& report, bool verbose) {
    return render_report(report, doctor::embedded_knowledge(), {.width = 80, .verbose = verbose});
}

/// The list of what is not shown is exact: a string that is on it and shown is a mistake as well.
TEST(DoctorScreen, ShowsEveryStringOfAReport) {
    for (const bool with_log : {false, true})
        for (const bool verbose : {false, true}) {
            SCOPED_TRACE(fmt::format("log {}, verbose {}", with_log, verbose));
            Report report = test::report_of_everything();
            const auto names = mark(report);
            UnshownList unshown = verbose ? never_shown : both_lists(never_shown, only_with_verbose);
            if (with_log)
                unshown = both_lists(unshown, not_with_a_log);
            else
                report.log.clear();
            expect_all(names, on_screen(report, verbose), unshown);
        }
}

/// The findings of the host are not hidden by the absence of findings in the log, nor notes by that of
/// problems.
TEST(DoctorScreen, ShowsFindingsOfTheHostWithoutOthers) {
    for (const std::size_t kept : {3u, 1u}) // all, or the note alone
        for (const bool verbose : {false, true}) {
            SCOPED_TRACE(fmt::format("{} kept, verbose {}", kept, verbose));
            Report report = test::report_of_everything();
            report.findings.clear();
            auto& host = report.host_findings;
            host.erase(host.begin(), host.end() - static_cast<std::ptrdiff_t>(kept));
            const auto names = mark(report);
            const std::string text = on_screen(report, verbose);
            for (const auto& [mark, name] : names)
                if (name.starts_with("host_findings[") && name.ends_with(".statement")) {
                    EXPECT_NE(text.find(mark), std::string::npos) << name;
                }
        }
}

/// Also those that are longer than a line.
TEST(DoctorScreen, ShowsEveryStringOfAStep) {
    const UnshownList unshown{{{".cause"}, "`why` says it in words"}, {{".environment"}, "in its commands"}};
    Report report = test::report_of_everything();
    std::map<std::string, std::string> names;
    const ReportStrings strings([&](const std::string& name, std::string& text) {
        const std::size_t number = names.size() / 2;
        names[fmt::format("mark{:04}", number)] = names[fmt::format("end{:04}", number)] = name;
        text = fmt::format("mark{0:04} {1} end{0:04}", number,
                           "longer than a line, which is 80 columns wide, all in all");
    });
    strings.one("step", report.plan.steps.back());
    EXPECT_GE(names.size(), 12U);
    const std::string text = render_step(report.plan.steps.back(), 80);
    for (const auto& [mark, name] : names)
        EXPECT_EQ(text.find(mark) != std::string::npos, !is_unshown(name, unshown)) << name;
}

TEST(DoctorScreen, TheWrittenReportHasWhatVerboseShows) {
    Report report = test::report_of_everything();
    const auto names = mark(report);
    report.log.clear();
    expect_all(names, report_markdown(report, doctor::embedded_knowledge()), never_shown);
}

} // namespace
} // namespace rekindle::cli
