#include <rekindle/base/version.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/clock.h>
#include <rekindle/research/combined_report.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <ctime>
#include <string_view>
#include <utility>

namespace rekindle::research {

namespace fs = std::filesystem;

namespace {

std::string inputs_text(const trainer::ReportData& report, bool with_hashes) {
    std::string text;
    for (const trainer::ReportInput& input : report.inputs)
        text += (text.empty() ? "" : ", ") + input.text() + (with_hashes ? ", XXH3-128 " + input.hash : "");
    return text;
}

bool same_data(const trainer::ReportData& a, const trainer::ReportData& b) {
    return std::ranges::equal(a.inputs, b.inputs, [](const auto& one, const auto& other) {
        return one.instrument == other.instrument && one.hash == other.hash;
    });
}

void require_same_data(std::span<const ReportedRun> runs) {
    const ReportedRun& first = runs.front();
    for (const ReportedRun& run : runs)
        if (!same_data(first.report, run.report))
            throw usage_error(fmt::format("these runs read different data: {} read {}, and {} read {}",
                                          first.folder.string(), inputs_text(first.report, true),
                                          run.folder.string(), inputs_text(run.report, true)))
                .expected("runs that read the same bars of the same instrument")
                .hint("Name only the runs on the same data, or make a separate report for each data set.");
}

/// A relative link to `page`, percent-encoded, for a page in `folder`.
std::string link_to(const fs::path& page, const fs::path& folder) {
    const std::string path =
        fs::absolute(page).lexically_normal().lexically_relative(fs::absolute(folder).lexically_normal());
    std::string link;
    for (const char character : path) {
        const auto byte = static_cast<unsigned char>(character);
        const bool plain =
            std::isalnum(byte) != 0 || std::string_view("-._~/").find(character) != std::string_view::npos;
        link += plain ? std::string(1, character) : fmt::format("%{:02X}", byte);
    }
    return link;
}

} // namespace

trainer::CombinedReport combine(std::vector<ReportedRun> runs, const fs::path& page) {
    require_same_data(runs);
    const fs::path folder = fs::absolute(page).lexically_normal().parent_path();
    trainer::CombinedReport combined;
    auto [verdict, has_edge] = judge_together(runs);
    combined.verdict = std::move(verdict);
    combined.has_edge = has_edge;
    combined.title = inputs_text(runs.front().report, false);
    combined.finished = market::format_civil(static_cast<std::int64_t>(std::time(nullptr))) + " UTC";
    combined.program = "rekindle " + version_number();
    for (ReportedRun& run : runs) {
        if (fs::absolute(run.folder).lexically_normal() == folder)
            throw usage_error("the folder of a run holds only the files of that run")
                .at(page.string())
                .expected("a file in another folder");
        combined.stages.push_back({link_to(run.folder / "report.html", folder), std::move(run.report)});
    }
    return combined;
}

nlohmann::ordered_json verdicts_json(const trainer::CombinedReport& combined, const std::string& page) {
    nlohmann::ordered_json stages = nlohmann::ordered_json::array();
    for (const trainer::ReportStage& one : combined.stages) {
        nlohmann::ordered_json stage{{"kind", trainer::name_of(one.report.kind)},
                                     {"report", one.link},
                                     {"judged", one.report.judged},
                                     {"verdict", one.report.evaluation.verdict.text()},
                                     {"has_edge", one.report.evaluation.has_edge}};
        if (one.report.final_part)
            stage["final"] = {{"judged", one.report.final_part->rows},
                              {"verdict", one.report.final_part->evaluation.verdict.text()},
                              {"has_edge", one.report.final_part->evaluation.has_edge}};
        stages.push_back(std::move(stage));
    }
    return {{"verdict", combined.verdict.text()},
            {"has_edge", combined.has_edge},
            {"report", page},
            {"stages", stages}};
}

} // namespace rekindle::research
