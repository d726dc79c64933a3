#include "pages/markdown.h"

#include <rekindle/doctor/pages.h>
#include <rekindle/foundation/file.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <re2/re2.h>

namespace rekindle::doctor {
namespace {

using testing::HasSubstr;

TEST(KnowledgePages, EveryEntryIsListedWithItsEvidence) {
    const Knowledge& knowledge = embedded_knowledge();
    const auto pages = knowledge_pages(knowledge);
    for (const Cause& cause : knowledge.causes)
        EXPECT_THAT(pages.at("knowledge/causes.md"), HasSubstr("## " + cause.code + " " + prose(cause.slug)));
    for (const Signature& signature : knowledge.signatures)
        EXPECT_THAT(pages.at("knowledge/signatures.md"), HasSubstr("id=\"" + signature.id + "\""));
    for (const EnvironmentVariable& variable : knowledge.variables)
        EXPECT_THAT(pages.at("knowledge/variables.md"), HasSubstr("## " + code(variable.name) + "\n"));
    for (const Remedy& remedy : knowledge.remedies)
        EXPECT_THAT(pages.at("knowledge/remedies.md"), HasSubstr("id=\"" + remedy.id + "\""));
    for (const WheelIndex& index : knowledge.indexes)
        EXPECT_THAT(pages.at("knowledge/wheels.md"), HasSubstr("<" + index.url + ">"));
    for (const GpuModel& gpu : knowledge.gpus)
        EXPECT_THAT(pages.at("knowledge/gpus.md"), HasSubstr("| " + cell(gpu.name) + " |"));
}

TEST(KnowledgePages, EveryPageSaysWhenItsContentsWereChecked) {
    for (const auto& [name, page] : knowledge_pages(embedded_knowledge()))
        EXPECT_TRUE(RE2::PartialMatch(page, R"(\nChecked (on|between) \d{4}-\d\d-\d\d)")) << name;
}

TEST(KnowledgePages, EntriesWithOtherDatesShowThem) {
    Knowledge knowledge;
    WheelIndex& index = knowledge.indexes.emplace_back();
    index.id = "cu999";
    index.checked = "2026-01-02";
    index.releases = {{"9.8.7", {"3.12"}, {}, ""}, {"9.9.0", {}, {}, "2026-03-04"}};
    ContainerImage& image = knowledge.images.emplace_back();
    image.tag = "a:b";
    image.checked = "2026-02-03";
    const std::string page = knowledge_pages(knowledge).at("knowledge/wheels.md");
    EXPECT_THAT(page, HasSubstr("Checked between 2026-01-02 and 2026-02-03; each entry has its date."));
    EXPECT_THAT(page, HasSubstr("| 9.8.7 | 3.12 |  | 2026-01-02 |"));
    EXPECT_THAT(page, HasSubstr("| 9.9.0 | not recorded |  | 2026-03-04 |"));
    EXPECT_THAT(page, HasSubstr("(2026-02-03)"));
}

TEST(KnowledgePages, TheOrderOfFilesDoesNotMatter) {
    Knowledge knowledge;
    knowledge.causes.resize(2);
    knowledge.causes[0].code = "D002";
    knowledge.causes[1].code = "D001";
    Knowledge turned = knowledge;
    std::reverse(turned.causes.begin(), turned.causes.end());
    EXPECT_EQ(knowledge_pages(knowledge), knowledge_pages(turned));
    turned.causes[0].title = "other";
    EXPECT_NE(knowledge_pages(knowledge), knowledge_pages(turned));
}

TEST(KnowledgePages, ConditionsAreReadable) {
    Knowledge knowledge;
    Signature& signature = knowledge.signatures.emplace_back();
    Condition torch{.key = "torch", .values = {">=2.6"}, .parts = {}, .origin = {}};
    Condition gfx{.key = "gfx", .values = {"RDNA1", "gfx1031"}, .parts = {}, .origin = {}};
    Condition other{.key = "not", .values = {}, .parts = {gfx}, .origin = {}};
    signature.candidates.push_back(
        {.cause = "c",
         .strength = "strong",
         .when = {.key = "all", .values = {}, .parts = {torch, other}, .origin = {}},
         .because = "it is",
         .origin = {}});
    EXPECT_THAT(knowledge_pages(knowledge).at("knowledge/signatures.md"),
                HasSubstr("- [c](causes.md#c), strong, when (torch is `>=2.6` and not (gfx is `RDNA1` or "
                          "`gfx1031`)): it is\n"));
}

TEST(DistributionsPage, TheCommittedPageIsUpToDate) {
    const std::filesystem::path docs = std::filesystem::path(REKINDLE_TEST_DATA) / "../../../docs";
    for (const auto& [name, page] : committed_knowledge_pages(embedded_knowledge()))
        EXPECT_EQ(page, read_file(docs / name)) << "run rekindle generate-docs docs --only committed";
}

TEST(DistributionsPage, SaysWhereTheWheelRuns) {
    Knowledge knowledge;
    const auto add = [&](const char* name, const char* glibc, const char* python, const char* mesa,
                         const char* vulkan) {
        Distribution& one = knowledge.distributions.emplace_back();
        one.name = name;
        one.glibc = glibc;
        one.python = python;
        one.mesa = mesa;
        one.vulkan = vulkan;
        one.checked = "2026-11-26";
    };
    add("new", "2.41", "3.13", "25.0.7", "");
    add("old", "2.31", "3.9", "21.2", "1.2");
    add("little", "2.43", "", "", "");
    const std::string page = committed_knowledge_pages(knowledge).at("reference/distributions.md");
    EXPECT_THAT(page, HasSubstr("| 3.13 | 2.41 | yes |\n"));
    EXPECT_THAT(page, HasSubstr("| no: glibc 2.31, Python 3.9, Vulkan 1.2 |\n"));
    EXPECT_THAT(page, HasSubstr("| unknown: Python, Mesa not recorded |\n"));
    EXPECT_THAT(page, HasSubstr("Checked on 2026-11-26"));
}

TEST(Markdown, TextIsEscaped) {
    EXPECT_EQ(prose("a*b_c <d> `x_y` e|f\ng"), "a\\*b\\_c \\<d\\> `x_y` e\\|f g");
    EXPECT_EQ(prose("one ` alone"), "one \\` alone");
    EXPECT_EQ(cell("`a|b` c|d"), "`a\\|b` c\\|d");
    EXPECT_EQ(code("a`b"), "`` a`b ``");
    EXPECT_EQ(code("a|b"), "`a|b`");
}

TEST(Markdown, ThreadsAreLinks) {
    Entry entry;
    entry.checked = "2026-11-21";
    entry.evidence = {{"thread", "pytorch/pytorch#1", "a note"}, {"source", "x 1.0 a_b.cpp:3", ""}};
    EXPECT_EQ(evidence(entry),
              "Evidence, checked 2026-11-21:\n\n"
              "- thread: [pytorch/pytorch#1](https://github.com/pytorch/pytorch/issues/1) (a note)\n"
              "- source: x 1.0 a\\_b.cpp:3\n");
}

} // namespace
} // namespace rekindle::doctor
