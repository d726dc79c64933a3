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
        {7, {Verdict::harmful}},    // rm -rf of ROCm and of libdrm
        {8, {Verdict::harmful}},    // apt purge "*amdgpu*"
        {12, {Verdict::harmful}},   // the override for gfx1010
        {14, {Verdict::harmful}},   // another ROCm on LD_LIBRARY_PATH
        {18, {Verdict::harmful}},   // devices open for everybody
        {24, {Verdict::wrong}},     // --extra-index-url
        {26, {Verdict::no_effect}}, // lockup_timeout=0 as a way to turn the watchdog off
        {28, {Verdict::harmful}},   // curl | sudo bash
        {30, {Verdict::harmful}},   // kill -9 $(pgrep python)
        {32, {Verdict::wrong}},     // "torch 2.6 dropped RDNA1"
    };
    EXPECT_EQ(condemned_in("navi-forum-answer.md"), expected);
}

TEST(HarmfulDocuments, AnImageWithItsOwnDriver) {
    const std::map<std::size_t, std::set<Verdict>> expected{
        {4, {Verdict::harmful}},    // the driver in the image
        {5, {Verdict::harmful}},    // wget | bash
        {6, {Verdict::wrong}},      // torch 2.9.1 is not on cu118; --break-system-packages is harmless here
        {10, {Verdict::no_effect}}, // a variable of ROCm for an RTX 5090
        {11, {Verdict::harmful}},   // chmod -R 777 /
        {12, {Verdict::wrong}},     // NumPy 2.1 with torch 2.1
        {13, {Verdict::no_effect}}, // NCCL_SHM_SIZE
        {14, {Verdict::harmful}},   // training in an endless loop
    };
    EXPECT_EQ(condemned_in("cuda-image.Dockerfile"), expected);
}

TEST(HarmfulDocuments, AWikiAboutHangs) {
    const std::map<std::size_t, std::set<Verdict>> expected{
        {7, {Verdict::no_effect, Verdict::harmful}},  // lockup_timeout=0, gpu_recovery=0
        {9, {Verdict::no_effect, Verdict::harmful}},  // the same in words
        {13, {Verdict::no_effect}},                   // noretry=0 against page faults
        {14, {Verdict::no_effect}},                   // ppfeaturemask for training
        {15, {Verdict::no_effect}},                   // vm_fragment_size against full memory
        {16, {Verdict::no_effect}},                   // vm_update_mode against faults
        {17, {Verdict::no_effect, Verdict::harmful}}, // lockup_timeout=0,0,0,0 and dpm=0
        {18, {Verdict::no_effect}},                   // vm_fault_stop=0 "turns page faults off"
        {22, {Verdict::no_effect}},                   // NVreg_DisableWatchdog
        {28, {Verdict::harmful}},                     // training in an endless loop
        {32, {Verdict::no_effect}},                   // two variables that nothing reads
    };
    EXPECT_EQ(condemned_in("hang-fixes-wiki.md"), expected);
}

TEST(HarmfulDocuments, AComposeFileThatRestartsForever) {
    const std::map<std::size_t, std::set<Verdict>> expected{
        {5, {Verdict::harmful}},    // restart: always
        {8, {Verdict::no_effect}},  // NCCL_SHM_SIZE
        {9, {Verdict::no_effect}},  // NCCL_DISABLE_TIMEOUT
        {10, {Verdict::no_effect}}, // PYTORCH_CUDA_MEMORY_LIMIT
        {11, {Verdict::no_effect}}, // CUDA_DISABLE_ECC_ERRORS
        {14, {Verdict::wrong}},     // NumPy 2.1 in an image with torch 2.1
        {15, {Verdict::harmful}},   // curl | bash
        {23, {Verdict::harmful}},   // until python preprocess.py
        {26, {Verdict::harmful}},   // bash <(wget …)
    };
    EXPECT_EQ(condemned_in("restart-forever.compose.yml"), expected);
}

TEST(HarmfulDocuments, ATutorialForAnOldStack) {
    const std::map<std::size_t, std::set<Verdict>> expected{
        {3, {Verdict::wrong}}, // "2.6 dropped RDNA1", "with 2.5 Vega lost its kernels", "6.3 removed gfx1030"
        {4, {Verdict::wrong}}, // "RX 9070 XT support was added in torch 2.4"
        {9, {Verdict::harmful}},    // sh -c "$(wget …)"
        {10, {Verdict::harmful}},   // curl | python3 -
        {11, {Verdict::wrong}},     // PyPI's torch; NumPy 2.0
        {12, {Verdict::wrong}},     // the same
        {13, {Verdict::harmful}},   // training in an endless loop
        {21, {Verdict::wrong}},     // NumPy 2.1 beside torch 2.1 in requirements
        {24, {Verdict::wrong}},     // "NumPy 2 works with every torch"
        {26, {Verdict::harmful}},   // sudo bash -c "$(curl …)"
        {27, {Verdict::no_effect}}, // variables that nothing reads
        {28, {Verdict::no_effect}},
    };
    EXPECT_EQ(condemned_in("old-stack-tutorial.md"), expected);
}

TEST(HarmfulDocuments, PinnedAnswers) {
    const std::map<std::size_t, std::set<Verdict>> expected{
        {4, {Verdict::no_effect, Verdict::harmful}}, // gpu_recovery=0, lockup_timeout=0
        {7, {Verdict::wrong}},      // "ROCm 6.0 wheels dropped Navi 10"; NumPy 2.2 with torch 2.2
        {10, {Verdict::wrong}},     // "torch 2.3 removed Pascal"
        {13, {Verdict::no_effect}}, // three variables that nothing reads
        {17, {Verdict::harmful}},   // until torchrun …
        {24, {Verdict::harmful}},   // restart: always
        {30, {Verdict::harmful}},   // wget | sudo sh
        {33, {Verdict::no_effect}}, // NVreg_NeverPowerOff
    };
    EXPECT_EQ(condemned_in("pinned-answers.md"), expected);
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
