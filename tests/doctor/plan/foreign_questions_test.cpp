/// No host is asked for what only another platform has: every question and every check of the knowledge on
/// every host of the matrix, and whole diagnoses.

#include "belongings.h"
#include "conditions/keys.h"
#include "host_matrix.h"
#include "log/case_files.h"
#include "log/host_situation.h"
#include "log/log_diagnoser.h"
#include "log/questions.h"

#include <rekindle/doctor/report.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace rekindle::doctor {
namespace {

using fixtures::Belonging;
using fixtures::belongings_of;
using fixtures::belongings_of_questions;
using fixtures::MatrixHost;

constexpr const char* unknown_failure = "Aborted\n";

/// Every question of a signature that is not a key, and every check of a cause.
std::vector<std::string> all_texts() {
    std::vector<std::string> texts;
    for (const Signature& signature : embedded_knowledge().signatures)
        for (const std::string& question : signature.ask)
            if (condition_key(question) == nullptr)
                texts.push_back(question);
    for (const Cause& cause : embedded_knowledge().causes)
        texts.insert(texts.end(), cause.distinguishing_checks.begin(), cause.distinguishing_checks.end());
    return texts;
}

/// Keys of conditions in the knowledge.
void collect_keys(const Condition& condition, std::set<std::string>& keys) {
    if (condition_key(condition.key) != nullptr)
        keys.insert(condition.key);
    for (const Condition& part : condition.parts)
        collect_keys(part, keys);
}
std::set<std::string> all_keys() {
    std::set<std::string> keys;
    for (const Signature& signature : embedded_knowledge().signatures) {
        for (const Signature::Candidate& candidate : signature.candidates)
            collect_keys(candidate.when, keys);
        for (const std::string& question : signature.ask)
            if (condition_key(question) != nullptr)
                keys.insert(question);
    }
    return keys;
}

/// "" if the text is for the host. `by_vendor`: also what the vendors of its GPUs decide.
std::string foreign_in_question(const std::string& text, const MatrixHost& host, bool by_vendor = true) {
    for (const Belonging* one : belongings_of(text, belongings_of_questions())) {
        const bool vendors = one->what.find("AMD") != std::string::npos || one->what == "NVIDIA";
        if (!one->fits(host) && (by_vendor || !vendors))
            return one->what;
    }
    return "";
}

/// Text → host and mistake, the first of each.
class ForeignTexts {
  public:
    void look(const std::vector<std::string>& texts, const MatrixHost& host, bool by_vendor = true) {
        for (const std::string& text : texts)
            if (const std::string foreign = foreign_in_question(text, host, by_vendor); !foreign.empty())
                first_.try_emplace(text, fmt::format("{}: {}", host.name, foreign));
    }
    ~ForeignTexts() {
        for (const auto& [text, mistake] : first_)
            ADD_FAILURE() << '"' << text << "\" on " << mistake;
    }

  private:
    std::map<std::string, std::string> first_;
};

TEST(ForeignQuestions, NoQuestionOfTheKnowledgeIsForAnotherPlatform) {
    ForeignTexts foreign;
    const std::vector<std::string> texts = all_texts();
    ASSERT_GE(texts.size(), 300U);
    for (const MatrixHost& host : fixtures::host_matrix())
        foreign.look(
            questions_for(texts, ground_of(host.facts, situation_of(host.facts, embedded_knowledge()))),
            host);
}

TEST(ForeignQuestions, NoKeyOfAConditionIsAskedOfAnotherPlatform) {
    ForeignTexts foreign;
    const std::set<std::string> keys = all_keys();
    ASSERT_GE(keys.size(), 40U);
    for (const MatrixHost& host : fixtures::host_matrix()) {
        const Situation situation = situation_of(host.facts, embedded_knowledge());
        Questions questions(ground_of(host.facts, situation));
        for (const std::string& key : keys)
            if (situation.find(key) == nullptr)
                questions.add_key(key, 1);
        questions.add_general(situation);
        foreign.look(questions.most_useful_first(), host);
    }
}

TEST(ForeignQuestions, AnUnknownLogAsksWhatTheHostCanAnswer) {
    ForeignTexts foreign;
    LogDiagnoser diagnoser(embedded_knowledge());
    const LogText log = log_from_text(unknown_failure, "made");
    for (const MatrixHost& host : fixtures::host_matrix()) {
        const LogDiagnosis diagnosis = diagnoser.diagnose(log, host.facts);
        EXPECT_GE(diagnosis.ask.size(), 2U) << host.name;
        foreign.look(diagnosis.ask, host);
    }
}

/// Logs show vendors, so that only what the system and the container decide is compared.
TEST(ForeignQuestions, NoLogLeadsToAQuestionOrCheckOfAnotherSystem) {
    ForeignTexts foreign;
    LogDiagnoser diagnoser(embedded_knowledge());
    std::vector<MatrixHost> hosts = fixtures::host_matrix();
    std::erase_if(hosts, [](const MatrixHost& host) {
        return !host.name.ends_with(", unknown GPU, no torch") || host.system.empty();
    });
    ASSERT_GE(hosts.size(), 15U);
    for (const CaseFile& one : read_case_files(embedded_knowledge())) {
        const LogText log = log_from_text(one.log, one.name);
        for (const MatrixHost& host : hosts) {
            const LogDiagnosis diagnosis = diagnoser.diagnose(log, host.facts);
            foreign.look(diagnosis.ask, host, false);
            for (const Finding& finding : diagnosis.findings)
                foreign.look(finding.distinguishing_checks, host, false);
        }
    }
}

/// Checks that the test can fail, and that nothing is lost: each kind of text is asked somewhere, and each
/// text of the knowledge on at least one host.
TEST(ForeignQuestions, EveryQuestionIsAskedWhereItBelongs) {
    const std::vector<std::string> all = all_texts();
    std::set<std::string> never(all.begin(), all.end());
    std::set<std::string> kinds;
    for (const MatrixHost& host : fixtures::host_matrix()) {
        const Ground ground = ground_of(host.facts, situation_of(host.facts, embedded_knowledge()));
        for (const std::string& text : all)
            if (question_for(text, ground)) {
                never.erase(text);
                for (const Belonging* one : belongings_of(text, belongings_of_questions()))
                    kinds.insert(one->what);
            }
    }
    for (const std::string& text : never)
        ADD_FAILURE() << "never asked: " << text;
    for (const char* kind : {"Unix", "the kernel of native Linux", "AMD", "NVIDIA", "WSL", "containers",
                             "collectives of AMD and NVIDIA"})
        EXPECT_TRUE(kinds.contains(kind)) << kind;
}

std::string asked(std::string_view log_text, const Facts& facts) {
    const LogText log = log_from_text(log_text, "made");
    std::string text;
    for (const std::string& question : diagnose_log(log, facts, embedded_knowledge()).ask)
        text += question + "\n";
    return text;
}

TEST(ForeignQuestions, WindowsAndVendors) {
    const std::string windows = asked("C:\\Users\\a\\train.py: something new failed\n", {});
    for (const char* unix : {"uname", "sudo", "dmesg", "grep", "python3", "/opt/"})
        EXPECT_EQ(windows.find(unix), std::string::npos) << windows;
    EXPECT_NE(windows.find("Get-ChildItem Env:"), std::string::npos) << windows;

    Facts facts;
    facts.origin = "a posted case";
    facts.gpus.emplace_back().vendor = "nvidia";
    const std::string nvidia = asked(unknown_failure, facts);
    for (const char* of_amd : {"gfx", "amdgpu", "kfd", "rocm"})
        EXPECT_EQ(nvidia.find(of_amd), std::string::npos) << nvidia;
    EXPECT_NE(nvidia.find("compute_cap"), std::string::npos) << nvidia;

    facts.gpus.front().vendor = "amd";
    facts.system.container = {"docker", "posted"};
    const std::string container = asked(unknown_failure, facts);
    EXPECT_NE(container.find("that name amdgpu or kfd (on the host, outside the container)"),
              std::string::npos)
        << container;
}

} // namespace
} // namespace rekindle::doctor
