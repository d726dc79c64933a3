/// Documents that damage systems or mislead (data/harmful/): which lines the review must condemn, and no
/// others.

#include <rekindle/doctor/review.h>
#include <rekindle/foundation/file.h>

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

namespace rekindle::doctor {
namespace {

/// The lines that are condemned, with the verdicts on each.
std::map<std::size_t, std::set<Verdict>> condemned_in(const char* name) {
    const auto file = std::filesystem::path(test::data_folder) / "harmful" / name;
    std::map<std::size_t, std::set<Verdict>> lines;
    for (const Mark& mark : review_document(read_file(file), embedded_knowledge()))
        if (mark.verdict != Verdict::holds && mark.verdict != Verdict::unknown)
            lines[mark.line].insert(mark.verdict);
    return lines;
}

TEST(HarmfulDocuments, AForumAnswerForNavi10) {
    const std::map<std::size_t, std::set<Verdict>> expected{
        {7, {Verdict::harmful}},  // rm -rf of ROCm and of libdrm
        {8, {Verdict::harmful}},  // apt purge "*amdgpu*"
        {12, {Verdict::harmful}}, // the override for gfx1010
        {14, {Verdict::harmful}}, // another ROCm on LD_LIBRARY_PATH
        {18, {Verdict::harmful}}, // devices open for everybody
        {24, {Verdict::wrong}},   // --extra-index-url
        {28, {Verdict::harmful}}, // curl | sudo bash
        {30, {Verdict::harmful}}, // kill -9 $(pgrep python)
    };
    EXPECT_EQ(condemned_in("navi-forum-answer.md"), expected);
}

TEST(HarmfulDocuments, AnImageWithItsOwnDriver) {
    const std::map<std::size_t, std::set<Verdict>> expected{
        {4, {Verdict::harmful}},    // the driver in the image
        {6, {Verdict::wrong}},      // torch 2.9.1 is not on cu118; --break-system-packages is harmless here
        {10, {Verdict::no_effect}}, // a variable of ROCm for an RTX 5090
        {11, {Verdict::harmful}},   // chmod -R 777 /
    };
    EXPECT_EQ(condemned_in("cuda-image.Dockerfile"), expected);
}

/// Whether the review condemns anything in a text.
bool condemns(std::string_view text) {
    for (const Mark& mark : review_document(text, embedded_knowledge()))
        if (mark.verdict != Verdict::holds && mark.verdict != Verdict::unknown)
            return true;
    return false;
}

TEST(HarmfulDocuments, WhatTheSentenceGoesOnToDismissIsNoAdvice) {
    EXPECT_TRUE(condemns("Run `pip install --break-system-packages torchvision` first."));
    for (const char* after :
         {"is never needed", "is not needed here", "should be avoided", "isn't necessary", "is a bad idea",
          "breaks the system's Python", "must not be used", "has no effect"})
        EXPECT_FALSE(
            condemns("`pip install --break-system-packages` " + std::string(after) + ": create a venv."))
            << after;
    EXPECT_TRUE(condemns("`pip install --break-system-packages` is needed. Conda is not recommended."));
}

TEST(HarmfulDocuments, AnOverrideIsForTheGpusOfItsSentence) {
    const std::string_view safe =
        "On an RX 6700 XT, HSA_OVERRIDE_GFX_VERSION=10.3.0 presents it as gfx1030. ";
    EXPECT_FALSE(condemns(std::string(safe) + "An RX 5700 XT needs native wheels instead."));
    EXPECT_TRUE(
        condemns("On an RX 5700 XT, HSA_OVERRIDE_GFX_VERSION=10.3.0 presents it as gfx1030. An RX 6700 XT "
                 "works without it."));
    EXPECT_TRUE(
        condemns("I have an RX 5700 XT. Set HSA_OVERRIDE_GFX_VERSION=10.3.0, then it is seen as gfx1030."));
}

TEST(HarmfulDocuments, FoldersThatImagesUsuallyClearAreNotTheSystems) {
    for (const char* line :
         {"RUN rm -rf /var/lib/apt/lists/*", "RUN rm -rf /usr/share/doc /usr/share/man",
          "RUN rm -rf /usr/lib/python3/dist-packages/blinker*", "RUN rm -rf /tmp/lib /root/lib"})
        EXPECT_FALSE(condemns(std::string("FROM ubuntu:24.04\n") + line + "\n")) << line;
    for (const char* line : {"sudo rm -rf /usr/lib/x86_64-linux-gnu/libdrm*",
                             "sudo rm -r /lib/firmware/amdgpu", "rm -rf /usr/lib64/*", "rm -rf /boot"})
        EXPECT_TRUE(condemns(line)) << line;
}

} // namespace
} // namespace rekindle::doctor
