#include <rekindle/doctor/review.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace rekindle::doctor {
namespace {

std::vector<Mark> review(std::string_view text) {
    return review_document(text, embedded_knowledge());
}

/// The first mark whose text contains `part`.
Mark mark_of(std::string_view document, std::string_view part) {
    for (const Mark& mark : review(document))
        if (mark.text.find(part) != std::string::npos)
            return mark;
    ADD_FAILURE() << "nothing marked with " << part << " in " << document;
    return {};
}

std::size_t count(std::string_view document, std::string_view kind, Verdict verdict) {
    const std::vector<Mark> marks = review(document);
    return static_cast<std::size_t>(std::count_if(marks.begin(), marks.end(), [&](const Mark& mark) {
        return mark.kind == kind && mark.verdict == verdict;
    }));
}

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

// Quoted lines below come from users' reports.

TEST(ReviewWheels, ForAnUnpublishedPairThePublishedOnesAreNamed) {
    const Mark mark = mark_of(
        "pip install torch==2.5.1 torchvision==0.20.1 --index-url https://download.pytorch.org/whl/rocm6.3",
        "pip");
    EXPECT_EQ(mark.kind, "version pair");
    EXPECT_EQ(mark.verdict, Verdict::wrong);
    EXPECT_TRUE(contains(mark.reason, "rocm6.1 and rocm6.2")) << mark.reason;
    EXPECT_TRUE(contains(mark.reason, "2.7.0")) << mark.reason;
    EXPECT_FALSE(mark.evidence.empty());
}

TEST(ReviewWheels, ContinuationLinesBelongToTheCommand) {
    const Mark mark = mark_of("```bash\npip install torch==2.4.1 torchvision==0.19.1 torchaudio==2.4.1 \\\n"
                              "    --index-url https://download.pytorch.org/whl/rocm6.2\n```\n",
                              "pip");
    EXPECT_EQ(mark.verdict, Verdict::wrong);
    EXPECT_EQ(mark.line, 2u);
    EXPECT_TRUE(contains(mark.reason, "rocm6.0")) << mark.reason;
}

TEST(ReviewWheels, AnExistingPairHoldsWithItsPythons) {
    const Mark mark =
        mark_of("pip3 install torch==2.5.1 --index-url https://download.pytorch.org/whl/rocm6.2/", "pip3");
    EXPECT_EQ(mark.verdict, Verdict::holds);
    EXPECT_TRUE(contains(mark.reason, "3.12")) << mark.reason;
}

TEST(ReviewWheels, CompanionsMustGoWithTheTorch) {
    const auto install = [](const std::string& packages, const std::string& index) {
        return mark_of("pip install " + packages + " --index-url https://download.pytorch.org/whl/" + index,
                       "pip");
    };
    // There is no torchvision 0.30: 0.29.2 accepts torch 2.15.
    EXPECT_EQ(install("torch==2.15.0 torchvision==0.29.2", "cu132").verdict, Verdict::holds);
    const Mark late = install("torch==2.15.0 torchvision==0.30.0", "cu132");
    EXPECT_EQ(late.verdict, Verdict::wrong);
    EXPECT_TRUE(contains(late.reason, "use 0.29.2")) << late.reason;
    // The last torchaudio is 2.11.0.
    EXPECT_EQ(install("torch==2.13.0 torchaudio==2.11.0", "cu130").verdict, Verdict::holds);
    const Mark audio = install("torch==2.13.0 torchaudio==2.13.0", "cu130");
    EXPECT_EQ(audio.verdict, Verdict::wrong);
    EXPECT_TRUE(contains(audio.reason, "use 2.11.0")) << audio.reason;
    // The patch number counts: torchvision 0.20.1 requires torch 2.5.1.
    EXPECT_EQ(install("torch==2.5.0 torchvision==0.20.1", "rocm6.2").verdict, Verdict::wrong);
    EXPECT_EQ(install("torch==2.5 torchvision==0.20", "rocm6.2").verdict, Verdict::holds);
}

TEST(ReviewWheels, OtherMistakesInInstallCommands) {
    EXPECT_EQ(mark_of("pip install torch==2.5.1 torchvision==0.19.1 --index-url "
                      "https://download.pytorch.org/whl/rocm6.2",
                      "pip")
                  .verdict,
              Verdict::wrong);
    EXPECT_EQ(mark_of("pip install torch==2.5.1+rocm6.1 --index-url https://download.pytorch.org/whl/rocm6.2",
                      "pip")
                  .verdict,
              Verdict::wrong);
    EXPECT_EQ(mark_of("pip install torch --extra-index-url https://download.pytorch.org/whl/rocm6.4", "pip")
                  .verdict,
              Verdict::wrong);
    EXPECT_EQ(mark_of("For ROCm: pip install torch torchvision", "pip").verdict, Verdict::wrong);
    EXPECT_EQ(
        mark_of("pip install --pre torch --index-url https://download.pytorch.org/whl/nightly/rocm6.3", "pip")
            .verdict,
        Verdict::unknown);
    EXPECT_EQ(mark_of("pip install torch==2.9.0 --index-url https://download.pytorch.org/whl/rocm8.0", "pip")
                  .verdict,
              Verdict::wrong);
    EXPECT_TRUE(review("pip install torch torchvision").empty()) << "does not mention AMD";
    EXPECT_TRUE(review("pip install torchmetrics numpy # for ROCm").empty());
}

TEST(ReviewWheels, DevicePackagesNeedTheirDevice) {
    const std::string url = "--index-url https://repo.amd.com/rocm/whl-multi-arch/";
    EXPECT_EQ(mark_of("pip install " + url + " \"torch[device-gfx1010]\"", "pip").verdict, Verdict::holds);
    EXPECT_EQ(mark_of("pip install " + url + " torch", "pip").verdict, Verdict::wrong);
    EXPECT_EQ(mark_of("pip install " + url + " \"torch[device-gfx803]\"", "pip").verdict, Verdict::wrong);
}

TEST(ReviewWheels, PairsInProseAndTables) {
    EXPECT_EQ(mark_of("Use PyTorch 2.4 + ROCm 6.2 for RDNA3", "PyTorch 2.4").verdict, Verdict::wrong);
    EXPECT_EQ(mark_of("ROCm 6.2 + PyTorch 2.5.1", "PyTorch 2.5.1").verdict, Verdict::holds);
    EXPECT_EQ(mark_of("prints 2.4.1+rocm6.0", "2.4.1").verdict, Verdict::holds);
    EXPECT_EQ(mark_of("prints 2.5.1+rocm6.3", "2.5.1").verdict, Verdict::wrong);
    const std::string table = "| PyTorch Version | ROCm Version | Status |\n|---|---|---|\n"
                              "| 2.5.x | 6.3 | Recommended |\n| **2.5.x** | **6.2** | BROKEN |\n";
    EXPECT_EQ(mark_of(table, "6.3").verdict, Verdict::wrong);
    EXPECT_EQ(mark_of(table, "BROKEN").verdict, Verdict::wrong) << "the pair is official";
}

TEST(ReviewVariables, UnrealBuildTimeAndValuesWithoutEffect) {
    EXPECT_EQ(mark_of("export HIP_MEMPOOL_DEBUG=1", "HIP_MEMPOOL_DEBUG").verdict, Verdict::no_effect);
    EXPECT_EQ(mark_of("export HIPBLAS_LOG_LEVEL=1", "HIPBLAS_LOG_LEVEL").verdict, Verdict::no_effect);
    EXPECT_EQ(mark_of("With ROCm:\nexport CUDA_VISIBLE_DEVICES=\"\"", "CUDA_VISIBLE_DEVICES").verdict,
              Verdict::no_effect);
    EXPECT_EQ(mark_of("With CUDA:\nexport CUDA_VISIBLE_DEVICES=\"\"", "CUDA_VISIBLE_DEVICES").verdict,
              Verdict::holds);
    EXPECT_EQ(mark_of("export CUDA_VISIBLE_DEVICES=0", "CUDA_VISIBLE_DEVICES").verdict, Verdict::holds);
    EXPECT_EQ(mark_of("PYTORCH_ROCM_ARCH=gfx1100 python train.py", "PYTORCH_ROCM_ARCH").verdict,
              Verdict::no_effect);
    EXPECT_EQ(mark_of("git clone https://github.com/pytorch/pytorch\nexport PYTORCH_ROCM_ARCH=gfx1100",
                      "PYTORCH_ROCM_ARCH")
                  .verdict,
              Verdict::holds);
    EXPECT_EQ(
        mark_of("Build PyTorch from source:\nexport PYTORCH_ROCM_ARCH=gfx1100", "PYTORCH_ROCM_ARCH").verdict,
        Verdict::holds);
    EXPECT_EQ(mark_of("export HSA_FASTER_KERNELS=1", "HSA_FASTER_KERNELS").verdict, Verdict::no_effect);
    EXPECT_TRUE(review("HIPBLAS_STATUS_ALLOC_FAILED = 3 and HSA_STATUS_ERROR=1, MY_SETTING=1").empty());
}

TEST(ReviewVariables, BadValuesOfGoodVariables) {
    const Mark mark = mark_of("export PYTORCH_HIP_ALLOC_CONF='expandable_segments:True,max_split_size_mb:512,"
                              "garbage_collection_threshold:0.8'",
                              "expandable_segments");
    EXPECT_EQ(mark.verdict, Verdict::harmful);
    EXPECT_EQ(mark.kind, "variable");
    EXPECT_EQ(review("export PYTORCH_HIP_ALLOC_CONF='expandable_segments:True,max_split_size_mb:512'").size(),
              1u);
}

TEST(ReviewVariables, AssignmentsInPython) {
    const Mark mark = mark_of("os.environ['TORCH_BLAS_PREFER_HIPBLASLT'] = '0'", "TORCH_BLAS");
    EXPECT_EQ(mark.verdict, Verdict::holds);
    EXPECT_EQ(mark.text, "TORCH_BLAS_PREFER_HIPBLASLT'] = '0'");
    EXPECT_EQ(mark_of("os.environ.setdefault(\"HIPBLAS_LAYER\", \"1\")", "HIPBLAS_LAYER").verdict,
              Verdict::no_effect);
}

TEST(ReviewVariables, TheOverrideIsJudgedForTheGpuInTheDocument) {
    const std::string set = "\n\nexport HSA_OVERRIDE_GFX_VERSION=10.3.0\n";
    EXPECT_EQ(mark_of("RX 5600 XT here (gfx1010)" + set, "HSA_OVERRIDE").verdict, Verdict::harmful);
    EXPECT_EQ(mark_of("I own an RX 6700 XT." + set, "HSA_OVERRIDE").verdict, Verdict::holds);
    EXPECT_EQ(mark_of("RX 6900 XT" + set, "HSA_OVERRIDE").verdict, Verdict::no_effect);
    EXPECT_EQ(mark_of("Two 7900 XTX" + set, "HSA_OVERRIDE").verdict, Verdict::harmful)
        << "a different generation";
    EXPECT_EQ(mark_of("No card is named." + set, "HSA_OVERRIDE").verdict, Verdict::holds);
}

TEST(ReviewVariables, ModuleParametersAndHardwareWithoutTheFeature) {
    EXPECT_EQ(mark_of("options amdgpu mtype_local=1", "mtype_local").verdict, Verdict::no_effect);
    EXPECT_EQ(mark_of("amdgpu.ppfeaturemask=0xffffffff", "ppfeaturemask").verdict, Verdict::no_effect);
    EXPECT_EQ(mark_of("RX 6800 XT: HSA_XNACK=1", "HSA_XNACK").verdict, Verdict::no_effect);
    EXPECT_EQ(mark_of("MI210: HSA_XNACK=1", "HSA_XNACK").verdict, Verdict::holds);
}

TEST(ReviewTargets, StatementsAboutGpus) {
    EXPECT_EQ(mark_of("- **RX 7600 (gfx1103) User**: fine", "RX 7600").verdict, Verdict::wrong);
    EXPECT_EQ(mark_of("RX 7900 XT (RDNA3/gfx1100)", "7900").verdict, Verdict::holds);
    EXPECT_EQ(mark_of("gfx1100 (7900 XT) support", "gfx1100").verdict, Verdict::holds);
    EXPECT_EQ(mark_of("gfx1030 (RX 7900 XT)", "gfx1030").verdict, Verdict::wrong);
    EXPECT_EQ(mark_of("the RX 6700 XT is RDNA3", "6700").verdict, Verdict::wrong);
    EXPECT_EQ(count("Confirmed working on 6900 XT, 7900 XT, W7900 (all RDNA3)", "gfx target", Verdict::wrong),
              1u);
    EXPECT_EQ(mark_of("built for gfx1109", "gfx1109").verdict, Verdict::wrong);
    EXPECT_EQ(mark_of("built for gfx90a", "gfx90a").verdict, Verdict::holds);
    EXPECT_TRUE(review("gfx1100abc and libgfxpayload, 7600 items").empty());
}

TEST(ReviewCommands, HarmfulUselessAndHarmless) {
    EXPECT_EQ(mark_of("sudo pkill -9 rocm", "pkill").verdict, Verdict::harmful);
    EXPECT_EQ(mark_of("rm -rf /opt/rocm*", "rm -rf").verdict, Verdict::harmful);
    EXPECT_EQ(mark_of("amdgpu-install --usecase=rocm,hip,hiplibsdk --no-dkms -y", "amdgpu-install").verdict,
              Verdict::no_effect);
    EXPECT_EQ(mark_of("sudo chmod 666 /dev/kfd", "chmod").verdict, Verdict::harmful);
    EXPECT_EQ(mark_of("pip freeze > before.txt", "pip freeze").verdict, Verdict::holds);
    const std::string docker = "docker run -it --device=/dev/kfd --device=/dev/dri \\\n  --group-add video "
                               "\\\n  rocm/pytorch:nothing_like_it";
    EXPECT_EQ(mark_of(docker, "docker run").verdict, Verdict::holds);
    EXPECT_EQ(mark_of(docker, "rocm/pytorch").verdict, Verdict::unknown);
    EXPECT_EQ(mark_of(docker, "rocm/pytorch").line, 3u);
}

TEST(ReviewClaims, KnownClaimsInOtherWords) {
    EXPECT_EQ(
        mark_of("PyTorch has a check in Context.cpp that returns ALLOC_FAILED on old ROCm.", "Context.cpp")
            .verdict,
        Verdict::wrong);
    EXPECT_EQ(mark_of("hipBLASLt is only supported on MI200 and MI300", "hipBLASLt").verdict, Verdict::wrong);
    EXPECT_EQ(mark_of("This has a 97% success rate!", "97").verdict, Verdict::unknown);
    EXPECT_EQ(
        mark_of("a paragraph whose claim that ROCm 7 is\nbroken for RDNA3 goes over a line end", "broken")
            .line,
        1u);
    EXPECT_TRUE(review("Training finished; 97 % of the rows were used.\nThe weather was fine.").empty());
}

TEST(ReviewDocument, MarksComeInTheOrderOfTheLines) {
    const std::vector<Mark> marks = review("gfx1100\n\nexport HIPBLAS_LAYER=1\n\nrm -rf /opt/rocm\n");
    ASSERT_EQ(marks.size(), 3u);
    EXPECT_EQ(marks[0].line, 1u);
    EXPECT_EQ(marks[1].line, 3u);
    EXPECT_EQ(marks[2].line, 5u);
    for (const Mark& mark : marks) {
        EXPECT_FALSE(mark.reason.empty());
        EXPECT_FALSE(mark.evidence.empty()) << mark.text;
    }
}

TEST(ReviewDocument, AHostileDocumentIsReadCompletely) {
    constexpr std::size_t megabyte = 1 << 20;
    std::string garbage(2 * megabyte, '\0');
    std::uint32_t state = 1;
    for (char& c : garbage)
        c = static_cast<char>((state = state * 1664525u + 1013904223u) >> 24U);
    std::string endless;
    while (endless.size() < megabyte)
        endless += "ROCm 7 RX 7900 XT (gfx1100 torch==2.5.1 hipBLASLt pip install HIP_X=";
    for (const std::string* text : {&garbage, &endless})
        for (const Mark& mark : review(*text))
            ASSERT_LE(mark.text.size(), 170u);
    const std::vector<Mark> many = review(std::string(megabyte, '\n') + endless + endless);
    EXPECT_EQ(many.back().kind, "document") << "a limit on the number of marks is reported";
}

} // namespace
} // namespace rekindle::doctor
