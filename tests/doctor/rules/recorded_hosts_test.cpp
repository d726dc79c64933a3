/// Every file in tests/hosts/: what the rules find on that host and what the plan contains.
/// tests/hosts/README.md describes the files.

#include <rekindle/doctor/diagnosis.h>
#include <rekindle/doctor/facts_json.h>
#include <rekindle/doctor/plan.h>
#include <rekindle/doctor/report.h>
#include <rekindle/foundation/file.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

namespace rekindle::doctor {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Strings = std::vector<std::string>;

fs::path hosts_folder() {
    return fs::path(test::data_folder).parent_path().parent_path() / "hosts";
}

Strings host_names() {
    Strings names;
    std::error_code unreadable; // then there are no names, and the test AtLeastThirty fails
    for (const fs::directory_entry& entry : fs::directory_iterator(hosts_folder(), unreadable))
        if (entry.path().extension() == ".json")
            names.push_back(entry.path().stem());
    std::sort(names.begin(), names.end());
    return names;
}

Json read_host(const std::string& name) {
    return Json::parse(read_file(hosts_folder() / (name + ".json")));
}

Strings list(const Json& object, const char* key) {
    return object.contains(key) ? object.at(key).get<Strings>() : Strings{};
}

/// Everything that the plan would print.
std::string text_of(const Plan& plan) {
    std::string text;
    for (const Step& step : plan.steps)
        text +=
            fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n", step.title, step.why, step.changes,
                        fmt::join(step.commands, "\n"), step.verify, step.expect, fmt::join(step.undo, "\n"));
    return text + fmt::format("{}\n{}\n{}\n", fmt::join(plan.remarks, "\n"),
                              fmt::join(plan.verification_stages, "\n"), plan.stop);
}

std::string text_of(const std::vector<Finding>& findings) {
    std::string text;
    for (const Finding& finding : findings) {
        text += finding.statement + "\n";
        for (const Evidence& evidence : finding.evidence)
            text += fmt::format("{} | {} | {}\n", evidence.what, evidence.source, evidence.value);
    }
    return text;
}

class RecordedHost : public testing::TestWithParam<std::string> {
  protected:
    void SetUp() override {
        host_ = read_host(GetParam());
        recording_ = recording_from_json(
            {{"facts", host_.at("facts")}, {"probes", host_.value("probes", Json::array())}}, GetParam());
        findings_ = examine_host(recording_.facts, recording_.probes, embedded_knowledge());
        plan_ = make_plan(recording_.facts, findings_, embedded_knowledge());
    }

    const Json& expected() const { return host_.at("expect"); }

    Json host_;
    Recording recording_;
    std::vector<Finding> findings_;
    Plan plan_;
};

TEST_P(RecordedHost, SaysWhereItComesFrom) {
    const Json& provenance = host_.at("provenance");
    const std::string kind = provenance.at("kind");
    EXPECT_TRUE(kind == "captured" || kind == "quoted" || kind == "constructed") << kind;
    EXPECT_FALSE(provenance.at("source").get<std::string>().empty());
}

TEST_P(RecordedHost, HasTheExpectedFindings) {
    Strings above_note;
    Strings notes;
    std::size_t primaries = 0;
    for (const Finding& finding : findings_) {
        (finding.severity == Severity::note ? notes : above_note).push_back(finding.cause);
        primaries += finding.primary ? 1 : 0;
        EXPECT_NE(embedded_knowledge().cause(finding.cause), nullptr) << finding.cause;
        EXPECT_FALSE(finding.statement.empty());
        EXPECT_FALSE(finding.evidence.empty()) << finding.cause;
    }
    EXPECT_EQ(above_note, list(expected(), "findings")) << text_of(findings_);
    EXPECT_EQ(notes, list(expected(), "notes")) << text_of(findings_);
    EXPECT_EQ(primaries, above_note.empty() ? 0u : 1u);
    if (!above_note.empty()) {
        EXPECT_TRUE(findings_.front().primary);
    }
}

TEST_P(RecordedHost, HasTheExpectedPlan) {
    Strings ids;
    for (const Step& step : plan_.steps) {
        ids.push_back(step.id);
        EXPECT_FALSE(step.why.empty());
        EXPECT_FALSE(step.changes.empty());
        if (step.automatic) {
            EXPECT_FALSE(step.root || step.reboot || step.undo.empty()) << step.id;
            EXPECT_TRUE(step.environment.starts_with('/')) << step.id;
        }
    }
    EXPECT_EQ(ids, list(expected(), "steps")) << text_of(plan_);
    EXPECT_EQ(plan_.stop.empty(), ids.empty());
}

TEST_P(RecordedHost, MentionsWhatItMustAndNothingForbidden) {
    const std::string text = text_of(findings_) + text_of(plan_);
    for (const std::string& part : list(expected(), "mentions"))
        EXPECT_NE(text.find(part), std::string::npos) << "not mentioned: " << part << "\n" << text;
    for (const std::string& part : list(expected(), "forbidden"))
        EXPECT_EQ(text.find(part), std::string::npos) << "said: " << part << "\n" << text;
}

TEST_P(RecordedHost, RoundTrips) {
    const Json written = to_json(recording_.facts);
    const Facts again = facts_from_json(Json::parse(written.dump()), "again");
    EXPECT_EQ(to_json(again), written);
    EXPECT_EQ(examine_host(again, recording_.probes, embedded_knowledge()).size(), findings_.size());
}

INSTANTIATE_TEST_SUITE_P(Hosts, RecordedHost, testing::ValuesIn(host_names()), [](const auto& host) {
    std::string name = host.param;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
});

TEST(RecordedHosts, AtLeastThirty) {
    EXPECT_GE(host_names().size(), 30u);
}

} // namespace
} // namespace rekindle::doctor
