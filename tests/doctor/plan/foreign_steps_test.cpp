/// No plan contains a command of another platform: every remedy and every cause on every host of the
/// matrix. What a command belongs to is determined by its text alone, not by what the knowledge says about
/// it.

#include "belongings.h"
#include "host_matrix.h"

#include <rekindle/doctor/plan.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <re2/re2.h>
#include <set>

namespace rekindle::doctor {
namespace {

using fixtures::Belonging;
using fixtures::belongings;
using fixtures::belongings_of;
using fixtures::MatrixHost;

std::vector<std::string> commands_of(const Step& step) {
    std::vector<std::string> lines = step.commands;
    if (!step.verify.empty())
        lines.push_back(step.verify);
    return lines;
}

std::vector<std::string> texts_of(const Step& step) {
    std::vector<std::string> texts = commands_of(step);
    texts.insert(texts.end(), step.undo.begin(), step.undo.end());
    texts.insert(texts.end(), {step.title, step.changes, step.expect, step.risk});
    return texts;
}

bool is_unfilled(const std::string& text) {
    static const RE2 unfilled(R"(<[a-z][a-z_]*>|\{[a-z_]+\})");
    static std::map<std::string, bool> known;
    const auto [found, added] = known.try_emplace(text);
    if (added)
        found->second = RE2::PartialMatch(text, unfilled);
    return found->second;
}

/// What is wrong with a step on a host, "" if nothing is.
std::string mistake_in(const Step& step, const MatrixHost& host) {
    for (const std::string& text : texts_of(step))
        if (is_unfilled(text))
            return fmt::format("a value was not filled in: {}", text);
    std::vector<std::string> lines = commands_of(step);
    lines.insert(lines.end(), step.undo.begin(), step.undo.end());
    for (const std::string& line : lines)
        for (const Belonging* one : belongings_of(line))
            if (!one->fits(host))
                return fmt::format("a command of {}: {}", one->what, line);
    return "";
}

/// Values that rules and logs provide for the remedies' placeholders, where a test has nothing better.
std::map<std::string, std::string> parameters_of(const MatrixHost& host) {
    std::map<std::string, std::string> parameters{{"pid", "4711"},
                                                  {"command", "python"},
                                                  {"bytes", "21,443,379,200"},
                                                  {"variables", "NAME"},
                                                  {"variable", "NAME"},
                                                  {"option", "amdgpu.mtype_local"},
                                                  {"option_file", "/etc/modprobe.d/a.conf"},
                                                  {"package", "bitsandbytes"},
                                                  {"library", "libamdhip64.so.6"},
                                                  {"limit", "65536"},
                                                  {"group", "render"},
                                                  {"gid", "992"}};
    if (host.amd && !host.nvidia)
        parameters["gfx"] = "gfx1100";
    return parameters;
}

/// Remedy or text of a plan → host and mistake, the first of each.
class Mistakes {
  public:
    void look(const MatrixHost& host, const std::vector<Finding>& findings) {
        const Plan plan = make_plan(host.facts, findings, embedded_knowledge());
        for (const Step& step : plan.steps)
            if (const std::string mistake = mistake_in(step, host); !mistake.empty())
                first_.try_emplace(step.id, fmt::format("{}: {}", host.name, mistake));
        for (const std::vector<std::string>* texts : {&plan.remarks, &plan.verification_stages})
            for (const std::string& text : *texts)
                for (const Belonging* one : belongings_of(text))
                    if (!one->fits(host))
                        first_.try_emplace(text, fmt::format("{}: words of {}", host.name, one->what));
    }
    void report() const {
        fmt::print("{} of {} remedies and texts of plans contain something foreign or unknown on some host\n",
                   first_.size(), embedded_knowledge().remedies.size());
        for (const auto& [id, mistake] : first_)
            ADD_FAILURE() << id << " on " << mistake;
    }

  private:
    std::map<std::string, std::string> first_;
};

/// A finding with every remedy.
Finding for_all_remedies() {
    Finding finding;
    finding.cause = embedded_knowledge().causes.front().slug;
    for (const Remedy& remedy : embedded_knowledge().remedies)
        finding.remedies.push_back(remedy.id);
    return finding;
}

TEST(ForeignSteps, NoRemedyHasACommandOfAnotherPlatform) {
    Mistakes mistakes;
    Finding finding = for_all_remedies();
    for (const MatrixHost& host : fixtures::sampled_host_matrix()) {
        finding.parameters.clear();
        mistakes.look(host, {finding});
        finding.parameters = parameters_of(host);
        mistakes.look(host, {finding});
    }
    mistakes.report();
}

TEST(ForeignSteps, NoCauseLeadsToACommandOfAnotherPlatform) {
    Mistakes mistakes;
    std::vector<Finding> findings;
    for (const Cause& cause : embedded_knowledge().causes)
        findings.emplace_back().cause = cause.slug;
    for (const MatrixHost& host : fixtures::sampled_host_matrix())
        mistakes.look(host, findings);
    mistakes.report();
}

/// Checks that the test can fail: each kind of command occurs somewhere.
TEST(ForeignSteps, EveryKindOfCommandIsOfferedWhereItBelongs) {
    std::set<std::string> seen;
    Finding finding = for_all_remedies();
    for (const MatrixHost& host : fixtures::host_matrix()) {
        finding.parameters = parameters_of(host);
        for (const Step& step : make_plan(host.facts, {finding}, embedded_knowledge()).steps)
            for (const std::string& line : commands_of(step))
                for (const Belonging* one : belongings_of(line))
                    seen.insert(one->what);
    }
    for (const Belonging& one : belongings())
        if (one.what != "NVIDIA's targets for AMD's tools") {
            EXPECT_TRUE(seen.contains(one.what)) << one.what;
        }
}

/// A plan names the step that Apptainer has wherever Docker has one.
TEST(ForeignSteps, ApptainerHasAStepWhereDockerHasOne) {
    std::vector<const MatrixHost*> docker;
    std::vector<const MatrixHost*> apptainer;
    const std::vector<MatrixHost> hosts = fixtures::host_matrix();
    const auto matches = [&](const MatrixHost& host, std::string_view container, bool nvidia) {
        return host.container == container && host.system == "linux" && host.nvidia == nvidia &&
               host.amd != nvidia && host.facts.gpus.size() == 1;
    };
    for (const bool nvidia : {false, true})
        for (const auto& [container, into] : {std::pair{"docker", &docker}, {"singularity", &apptainer}})
            for (const MatrixHost& host : hosts)
                if (matches(host, container, nvidia)) {
                    into->push_back(&host);
                    break;
                }
    ASSERT_EQ(docker.size(), 2U);
    ASSERT_EQ(apptainer.size(), 2U);
    std::size_t compared = 0;
    const auto starts_container = [](const Plan& plan, const char* pattern) {
        return std::any_of(plan.steps.begin(), plan.steps.end(), [&](const Step& step) {
            const auto lines = commands_of(step);
            return std::any_of(lines.begin(), lines.end(),
                               [&](const std::string& line) { return RE2::PartialMatch(line, pattern); });
        });
    };
    for (std::size_t i = 0; i < docker.size(); ++i)
        for (const Remedy& remedy : embedded_knowledge().remedies) {
            Finding finding;
            finding.cause = embedded_knowledge().causes.front().slug;
            finding.parameters = parameters_of(*docker[i]);
            finding.remedies = {remedy.id};
            const Plan with_docker = make_plan(docker[i]->facts, {finding}, embedded_knowledge());
            if (!starts_container(with_docker, R"(\bdocker (run|exec|restart)\b)") ||
                remedy.id == "no-cgroups") // a setting of NVIDIA's toolkit, which --nv does not use
                continue;
            ++compared;
            EXPECT_TRUE(starts_container(make_plan(apptainer[i]->facts, {finding}, embedded_knowledge()),
                                         R"(\bapptainer (run|exec|pull)\b)"))
                << remedy.id << " on " << apptainer[i]->name;
        }
    EXPECT_GE(compared, 8U);
}

/// Removing a search path that the wheel's own libraries need breaks what works.
TEST(ForeignSteps, EveryWayToRemoveTheSearchPathIsRecognized) {
    const auto is_removal = [](const char* line) {
        const auto& all = belongings_of(line);
        return std::any_of(all.begin(), all.end(), [](const Belonging* one) {
            return one->what == "a search path without /opt/rocm in it";
        });
    };
    for (const char* line :
         {"unset LD_LIBRARY_PATH", "unset HSA_OVERRIDE_GFX_VERSION LD_LIBRARY_PATH",
          "env -u LD_LIBRARY_PATH python3 train.py",
          "export LD_LIBRARY_PATH=", "LD_LIBRARY_PATH= python3 a.py", "export LD_LIBRARY_PATH=\"\"",
          R"(export LD_LIBRARY_PATH=$(printenv LD_LIBRARY_PATH | tr : "\n" | grep -v "^/opt/rocm"))"})
        EXPECT_TRUE(is_removal(line)) << line;
    for (const char* line : {"printenv LD_LIBRARY_PATH", "export LD_LIBRARY_PATH=/srv/lib:$LD_LIBRARY_PATH",
                             "unset ROCR_VISIBLE_DEVICES"})
        EXPECT_FALSE(is_removal(line)) << line;
}

} // namespace
} // namespace rekindle::doctor
