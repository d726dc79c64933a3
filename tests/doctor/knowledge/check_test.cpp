#include "knowledge_folder.h"

#include <rekindle/foundation/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rekindle::doctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view backing =
    "  evidence: [{kind: source, ref: \"a/b v1 c.cpp:3\"}]\n  checked: 2026-11-21\n";

std::string cause_text(std::string_view slug, std::string_view code, std::string_view more = "") {
    return "- slug: " + std::string(slug) + "\n  code: " + std::string(code) +
           "\n  title: t\n  sentence: s\n" + std::string(more) + std::string(backing);
}

TEST(CheckKnowledge, AValidFolderHasNoMistakes) {
    const KnowledgeFolder folder{
        {"causes/a.yaml", cause_text("out-of-memory", "D001")},
        {"signatures/blas.yaml", "- id: s\n  title: t\n  patterns: [\"a+b\"]\n  means: m\n"
                                 "  candidates:\n"
                                 "    - {cause: out-of-memory, strength: strong, when: {torch: \">=2.6\", "
                                 "any: [{gfx: RDNA1}, {env.HSA_X: absent}]}}\n" +
                                     std::string(backing)}};
    EXPECT_THAT(check_knowledge(folder.path()), IsEmpty());
    const Knowledge knowledge = load_knowledge(folder.path());
    const Condition& when = knowledge.signature("s")->candidates.at(0).when;
    EXPECT_EQ(when.key, "all");
    ASSERT_EQ(when.parts.size(), 2U);
    EXPECT_EQ(when.parts[0].key, "torch");
    EXPECT_EQ(when.parts[0].values, std::vector<std::string>{">=2.6"});
    EXPECT_EQ(when.parts[1].parts.at(1).key, "env.HSA_X");
    EXPECT_EQ(knowledge.cause("out-of-memory")->origin.file, "causes/a.yaml");
    EXPECT_EQ(knowledge.cause("out-of-memory")->origin.line, 1);
}

/// Every type of entry, with the keys that it needs except for the date.
TEST(CheckKnowledge, NoEntryOfAnyTypeIsAcceptedWithoutItsDate) {
    const std::string evidence = "  evidence: [{kind: source, ref: \"a/b v1 c.cpp:3\"}]\n";
    const std::pair<const char*, const char*> entries[] = {
        {"alternatives.yaml", "- id: a\n  title: t\n  kind: cloud\n  detail: d\n"},
        {"causes.yaml", "- slug: a\n  code: D001\n  title: t\n  sentence: s\n"},
        {"claims.yaml", "- id: a\n  patterns: [a]\n  says: s\n  verdict: \"true\"\n  correction: c\n"},
        {"distributions.yaml", "- name: Debian 13\n  os_id: debian\n  release: \"13\"\n"},
        {"gfx_targets.yaml", "- name: gfx1010\n  architecture: RDNA1\n  kfd_version: 100100\n"},
        {"gpus.yaml", "- name: GeForce\n  vendor: nvidia\n"},
        {"images.yaml", "- tag: \"a:b\"\n"},
        {"indexes.yaml", "- id: cpu\n  kind: cpu\n  url: https://a\n"},
        {"remedies.yaml", "- id: a\n  for: {systems: [linux]}\n  title: t\n  changes: c\n  minutes: 1\n"
                          "  risk: none\n  cost: 0\n"},
        {"signatures.yaml", "- id: s\n  title: t\n  patterns: [a]\n  means: m\n  harmless: true\n"},
        {"torch_releases.yaml", "- torch: \"2.9.1\"\n"},
        {"variables.yaml", "- name: A\n  component: c\n  status: real\n  meaning: m\n"}};
    for (const auto& [file, entry] : entries) {
        const KnowledgeFolder dated{{file, entry + evidence + "  checked: 2026-11-21\n"}};
        EXPECT_THAT(check_knowledge(dated.path()), IsEmpty()) << file;
        const KnowledgeFolder undated{{file, entry + evidence}};
        EXPECT_THAT(check_knowledge(undated.path()), ElementsAre(HasSubstr("checked"))) << file;
        const KnowledgeFolder vague{{file, entry + evidence + "  checked: 2026-11\n"}};
        EXPECT_THAT(check_knowledge(vague.path()), ElementsAre(HasSubstr("YYYY-MM-DD"))) << file;
    }
}

TEST(CheckKnowledge, DatesThatContradictEachOtherAreMistakes) {
    const KnowledgeFolder folder{
        {"alternatives.yaml", "- id: a\n  title: t\n  kind: cloud\n  detail: d\n  price_per_hour: 1\n"
                              "  priced: 2026-12\n" +
                                  std::string(backing)},
        {"indexes.yaml", "- id: cpu\n  kind: cpu\n  url: https://a\n"
                         "  releases: [{torch: \"2.9.1\", checked: 2026-13-01}, {torch: \"2.9.2\"}]\n" +
                             std::string(backing)},
        {"torch_releases.yaml", "- torch: \"2.9.1\"\n  released: 2026-11-22\n" + std::string(backing)}};
    EXPECT_THAT(check_knowledge(folder.path()),
                ElementsAre("alternatives.yaml:1: priced 2026-12 after it was checked, 2026-11-21",
                            "indexes.yaml:1: checked of 2.9.1 \"2026-13-01\" is not a date of the form "
                            "YYYY-MM-DD",
                            "indexes.yaml:1: torch 2.9.2 is not in torch_releases.yaml",
                            "torch_releases.yaml:1: released 2026-11-22 after it was checked, 2026-11-21"));
}

TEST(CheckKnowledge, TargetsOfOneSystemAreTargetsOfTheIndex) {
    const KnowledgeFolder folder{
        {"gfx_targets.yaml",
         "- name: gfx1010\n  architecture: RDNA1\n  kfd_version: 100100\n" + std::string(backing)},
        {"indexes.yaml", "- id: r\n  kind: rocm\n  url: https://a\n  targets: [gfx1010]\n"
                         "  linux_only: [gfx1010, gfx942]\n  untested_windows: [gfx1011]\n" +
                             std::string(backing)}};
    EXPECT_THAT(check_knowledge(folder.path()),
                ElementsAre("indexes.yaml:1: the target gfx942 of linux_only is not in targets",
                            "indexes.yaml:1: the target gfx1011 of untested_windows is not in targets"));
}

TEST(CheckKnowledge, ReportsEveryMistakeWithItsLine) {
    const KnowledgeFolder folder{
        {"causes.yaml",
         cause_text("one", "D001") + cause_text("one", "D01", "  remedies: [nothing]\n  titel: x\n")},
        {"signatures/a.yaml",
         "- id: s\n  title: t\n  patterns: [\"a(\"]\n  harmless: maybe\n  means: m\n  candidates:\n"
         "    - cause: two\n      strength: sure\n      when: {color: red}\n" +
             std::string(backing)}};
    EXPECT_THAT(
        check_knowledge(folder.path()),
        ElementsAre(
            "causes.yaml:7: code \"D01\" does not have the form D\\d{3}",
            "causes.yaml:7: remedy nothing is not defined in any remedies file",
            "causes.yaml:7: duplicate slug one; first at causes.yaml:1",
            "causes.yaml:12: unknown key \"titel\"; did you mean title?",
            HasSubstr("signatures/a.yaml:1: pattern \"a(\": missing )"),
            "signatures/a.yaml:4: harmless must be true or false, not \"maybe\"",
            "signatures/a.yaml:7: cause two is not defined in any causes file",
            "signatures/a.yaml:8: strength must be one of decisive, strong, likely, possible, not \"sure\"",
            "signatures/a.yaml:9: unknown condition \"color\""));
}

TEST(CheckKnowledge, EveryEntryNeedsEvidenceAndADate) {
    const KnowledgeFolder folder{
        {"causes.yaml",
         "- slug: a\n  code: D001\n  title: t\n  sentence: s\n  evidence: []\n  checked: 2026-02-30\n"
         "- slug: b\n  code: D002\n  title: t\n  sentence: s\n"
         "  evidence: [{kind: rumor, ref: x}, {kind: thread, ref: x}]\n"}};
    EXPECT_THAT(check_knowledge(folder.path()),
                ElementsAre("causes.yaml:1: checked \"2026-02-30\" is not a date of the form YYYY-MM-DD",
                            "causes.yaml:5: evidence is empty", "causes.yaml:7: checked is missing",
                            "causes.yaml:7: thread \"x\" must be repository#number or a URL",
                            HasSubstr("causes.yaml:11: kind must be one of source, thread")));
}

TEST(CheckKnowledge, PromisesOfSuccessAreMistakes) {
    const KnowledgeFolder folder{
        {"causes.yaml",
         cause_text("a", "D001", "  detail: Works for 99 % of users.\n") +
             cause_text("b", "D002", "  detail: VRAM was 99.9 % full; 5 % of it was free again later.\n")}};
    EXPECT_THAT(
        check_knowledge(folder.path()),
        ElementsAre("causes.yaml:1: it promises a percentage of success: \"Works for 99 % of users.\""));
}

TEST(CheckKnowledge, RemediesAreConsistent) {
    const KnowledgeFolder folder{{"remedies.yaml", "- id: r\n  for: {systems: [linux]}\n  title: t\n  "
                                                   "changes: c\n  commands: [\"{python} -m x {nothing}\"]\n"
                                                   "  verify: v\n  minutes: 1\n  risk: some\n  root: true\n"
                                                   "  automatic: true\n  cost: 7\n" +
                                                       std::string(backing)}};
    EXPECT_THAT(check_knowledge(folder.path()),
                ElementsAre(HasSubstr("risk \"some\""), HasSubstr("cost must be"),
                            HasSubstr("automatic, but"), HasSubstr("verify and expect"),
                            HasSubstr("placeholder {nothing}")));
}

TEST(CheckKnowledge, GpusAndTargetsMustAgree) {
    const KnowledgeFolder folder{
        {"gfx_targets.yaml",
         "- name: gfx1010\n  architecture: RDNA1\n  kfd_version: 100101\n" + std::string(backing)},
        {"gpus.yaml",
         "- name: A\n  vendor: amd\n  pci: [\"1002:731f:ca\", \"10de:0001\"]\n  target: gfx1011\n" +
             std::string(backing) + "- name: B\n  vendor: amd\n  pci: [\"1002:731f:ca\"]\n" +
             std::string(backing)}};
    EXPECT_THAT(check_knowledge(folder.path()),
                ElementsAre("gfx_targets.yaml:1: kfd_version 100101 does not match gfx1010, which has 100100",
                            "gpus.yaml:1: pci 10de:0001 does not belong to amd",
                            "gpus.yaml:1: target gfx1011 is not in gfx_targets.yaml",
                            "gpus.yaml:7: pci 1002:731f:ca also belongs to A (gpus.yaml:1)"));
}

TEST(CheckKnowledge, FilesThatAreNotKnowledge) {
    const KnowledgeFolder folder{{"colors.yaml", "[]\n"},
                                 {"causes.yaml", "slug: a\n"},
                                 {"gpus.yaml", "- a: [\n"},
                                 {"signatures/_template.yaml", "- id: t\n"},
                                 {"README.md", "text"}};
    const std::vector<std::string> mistakes = check_knowledge(folder.path());
    EXPECT_THAT(mistakes,
                testing::Contains(HasSubstr("colors.yaml:1: this file name matches no type of entry")));
    EXPECT_THAT(mistakes,
                testing::Contains("causes.yaml:1: the file must be a list of entries, not a mapping"));
    EXPECT_THAT(mistakes, testing::Contains(HasSubstr("gpus.yaml:2: not YAML")));
    EXPECT_THAT(mistakes, testing::Contains("signatures/_template.yaml:1: title is missing"));
}

TEST(LoadKnowledge, StopsAtTheFirstMistake) {
    const KnowledgeFolder folder{{"causes.yaml", cause_text("one", "D001", "  titel: x\n")}};
    try {
        load_knowledge(folder.path());
        FAIL() << "accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), ExitStatus::usage);
        EXPECT_EQ(error.where(), "causes.yaml:5");
        EXPECT_EQ(error.message(), "unknown key \"titel\"; did you mean title?");
    }
    EXPECT_THROW(load_knowledge("/nonexistent"), Error);
}

TEST(LoadKnowledge, TemplatesAreNotLoaded) {
    const KnowledgeFolder folder{{"causes/_template.yaml", cause_text("example", "D999")}};
    EXPECT_THAT(load_knowledge(folder.path()).causes, IsEmpty());
    EXPECT_THAT(check_knowledge(folder.path()), IsEmpty());
}

} // namespace
} // namespace rekindle::doctor
