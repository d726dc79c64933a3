/// Claims about the release that removed or added code for a GPU.

#include <rekindle/doctor/review.h>

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace rekindle::doctor {
namespace {

/// The judgment on the claim; none if nothing is claimed.
std::optional<Mark> claim_in(std::string_view document) {
    for (Mark& mark : review_document(document, embedded_knowledge()))
        if (mark.kind == "claim")
            return std::move(mark);
    return std::nullopt;
}

TEST(SupportClaims, WhatWasNeverThereWasNotRemoved) {
    for (const char* text :
         {"Torch 2.6 dropped RDNA1 on purpose, so stay on 2.5.", "RDNA1 was removed in PyTorch 2.6.",
          "In torch 2.6, the RX 5700 XT lost its kernels.", "PyTorch 2.4 no longer supports gfx1010.",
          "The ROCm 6.0 wheels dropped Navi 10."}) {
        const auto claim = claim_in(text);
        ASSERT_TRUE(claim) << text;
        EXPECT_EQ(claim->verdict, Verdict::wrong) << text;
        EXPECT_NE(claim->reason.find("never had code for"), std::string::npos) << claim->reason;
        EXPECT_FALSE(claim->evidence.empty());
    }
}

TEST(SupportClaims, WhatIsStillThereWasNotRemoved) {
    for (const char* text :
         {"torch 2.6 dropped RDNA2.",
          "PyTorch 2.6 is slower, and with 2.5 the whole Vega family lost its kernels.",
          "ROCm 6.3 removed gfx1030 from the wheels.", "torch 2.3 removed Pascal completely.",
          "PyTorch 2.6 doesn't support gfx1100."}) {
        const auto claim = claim_in(text);
        ASSERT_TRUE(claim) << text;
        EXPECT_EQ(claim->verdict, Verdict::wrong) << text << ": " << claim->reason;
        EXPECT_NE(claim->reason.find("have code for"), std::string::npos) << claim->reason;
    }
}

TEST(SupportClaims, AdditionsAreCheckedToo) {
    const auto early = claim_in("RX 9070 XT support was added in torch 2.4.");
    ASSERT_TRUE(early);
    EXPECT_EQ(early->verdict, Verdict::wrong);
    EXPECT_NE(early->reason.find("the first with gfx1201 is 2.7.0"), std::string::npos) << early->reason;
    const auto late = claim_in("torch 2.9 added gfx1100.");
    ASSERT_TRUE(late);
    EXPECT_EQ(late->verdict, Verdict::wrong);
    const auto right = claim_in("torch 2.7 added Blackwell.");
    ASSERT_TRUE(right);
    EXPECT_EQ(right->verdict, Verdict::holds) << right->reason;
}

TEST(SupportClaims, OtherSentencesAreLeftAlone) {
    for (const char* text :
         {"PyTorch's wheels never contained code for RDNA1; nothing was dropped in 2.6.",
          "It is not true that torch 2.6 dropped RDNA2.", "Did torch 2.6 drop RDNA1?",
          "CUDA 13 dropped Pascal.", "vLLM 0.6 dropped Volta, says the torch forum.",
          "torch 2.6 dropped Python 3.8.", "RX 9070 XT was added in torch 2.7 or 2.8.",
          "torch 3.7 will drop RDNA2.", "ROCm 6.4 dropped the MI50 from its list of supported GPUs.",
          "torch 2.5 supports the RX 6700 XT with an override.",
          "torch 2.7 dropped Pascal from the cu128 wheels.",
          "PyTorch 2.5.1 introduced BREAKING changes for gfx1100 hipBLASLt support."})
        EXPECT_FALSE(claim_in(text)) << text << ": " << claim_in(text)->reason;
}

} // namespace
} // namespace rekindle::doctor
