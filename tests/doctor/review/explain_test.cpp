#include <rekindle/doctor/review.h>

#include <gtest/gtest.h>

#include <string>

namespace rekindle::doctor {
namespace {

std::vector<std::string> explained(std::string_view term) {
    return explain(term, embedded_knowledge());
}

/// Whether one of the paragraphs contains the text.
bool says(std::string_view term, std::string_view part) {
    for (const std::string& paragraph : explained(term))
        if (paragraph.find(part) != std::string::npos)
            return true;
    return false;
}

TEST(Explain, VariablesWithAndWithoutAValue) {
    EXPECT_TRUE(says("HIPBLAS_LAYER", "is not read by any program"));
    EXPECT_TRUE(says("HIPBLAS_LAYER=1", "ROCBLAS_LAYER"));
    EXPECT_TRUE(says("MIOPEN_DEBUG_CONV_GEMM", "convolution"));
    EXPECT_TRUE(says("amdgpu.mtype_local", "MI300"));
    EXPECT_TRUE(says("mtype_local=1", "MI300"));
}

TEST(Explain, NamesThatDoNotExist) {
    EXPECT_TRUE(says("NCCL_SHM_SIZE=64m", "not a variable of NCCL"));
    EXPECT_TRUE(says("NCCL_SHM_SIZE", "NCCL_SHM_DISABLE"));
    EXPECT_TRUE(says("amdgpu.disable_watchdog", "not a parameter of the kernel module amdgpu"));
    EXPECT_FALSE(says("NCCL_IB_HCA", "not a variable"));
}

TEST(Explain, ReleasesOfTorchNameTheirCompanions) {
    EXPECT_TRUE(says("torch 2.9.1", "torchvision 0.24.1 and torchaudio 2.9.1"));
    EXPECT_TRUE(says("2.15.0", "torchvision 0.29.2 or 0.29.1"));
    EXPECT_TRUE(says("rocm6.4", "torch 2.9.1 with torchvision 0.24.1 and torchaudio 2.9.1"));
    EXPECT_TRUE(says("therock", "Systems: linux, windows"));
}

TEST(Explain, TargetsAndGpus) {
    EXPECT_TRUE(says("gfx1010", "Radeon RX 5600 XT"));
    EXPECT_TRUE(says("GFX1010", "therock"));
    EXPECT_TRUE(says("gfx1010", "HSA_OVERRIDE_GFX_VERSION=10.3.0: unsafe"));
    EXPECT_TRUE(says("RX 7900 XT", "gfx1100"));
}

TEST(Explain, FullAndPartialMessages) {
    const std::string message =
        "RuntimeError: CUDA error: HIPBLAS_STATUS_ALLOC_FAILED when calling `hipblasCreate(handle)`";
    EXPECT_TRUE(says(message, "Can come from"));
    EXPECT_TRUE(says("no kernel image is available", "Can come from"));
}

TEST(Explain, CausesRemediesIndexesAndClaimsByName) {
    const Knowledge& knowledge = embedded_knowledge();
    ASSERT_FALSE(knowledge.causes.empty());
    EXPECT_TRUE(says(knowledge.causes.front().slug, knowledge.causes.front().code));
    EXPECT_TRUE(says(knowledge.causes.front().code, knowledge.causes.front().slug));
    EXPECT_TRUE(says("rocm6.2", "torch 2.5.1 with torchvision 0.20.1 and torchaudio 2.5.1 for Python"));
    EXPECT_TRUE(says("hipBLASLt is only supported on MI200/MI300", "Verdict: false"));
    EXPECT_TRUE(says("pip install torch==2.5.1 --index-url https://download.pytorch.org/whl/rocm6.3",
                     "No such pair exists"));
}

TEST(Explain, EveryParagraphHasItsEvidence) {
    for (const char* term :
         {"HSA_XNACK", "gfx1100", "RX 5600 XT", "HIPBLAS_STATUS_INTERNAL_ERROR", "rocm7.0", "success-rates"})
        for (const std::string& paragraph : explained(term))
            EXPECT_NE(paragraph.find("\nEvidence: "), std::string::npos) << paragraph;
}

TEST(Explain, NothingIsInventedForUnknownTerms) {
    EXPECT_TRUE(explained("").empty());
    EXPECT_TRUE(explained("   ").empty());
    EXPECT_TRUE(explained("quux").empty());
    EXPECT_TRUE(explained("xyzzy_plugh frobnicates").empty());
    EXPECT_LE(explained(std::string(1 << 20, 'e')).size(), 12u);
}

} // namespace
} // namespace rekindle::doctor
