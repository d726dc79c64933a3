/// Variables that nothing reads, and variables that only look so.

#include <rekindle/doctor/review.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace rekindle::doctor {
namespace {

std::vector<Mark> condemned_marks(std::string_view document) {
    std::vector<Mark> marks = review_document(document, embedded_knowledge());
    std::erase_if(marks, [](const Mark& mark) {
        return mark.verdict == Verdict::holds || mark.verdict == Verdict::unknown;
    });
    return marks;
}

TEST(UnknownNames, AreNamedWithWhatWasMeant) {
    const auto reason = [](std::string_view document) {
        const std::vector<Mark> marks = condemned_marks(document);
        return marks.size() == 1 ? marks.front().reason : std::string();
    };
    EXPECT_EQ(reason("export NCCL_SHM_SIZE=64m"),
              "This is not a variable of NCCL, RCCL or PyTorch; similar names: NCCL_SHM_DISABLE.");
    EXPECT_NE(reason("export CUDA_VISIBLE_DEVICE=0").find("CUDA_VISIBLE_DEVICES"), std::string::npos);
    EXPECT_NE(reason("export MIOPEN_FIND_MOD=FAST").find("MIOPEN_FIND_MODE"), std::string::npos);
    EXPECT_NE(reason("export PYTORCH_CUDA_ALOC_CONF=max_split_size_mb:512").find("PYTORCH_CUDA_ALLOC_CONF"),
              std::string::npos);
}

TEST(UnknownNames, OfEveryPrefix) {
    for (const char* name : {"NCCL_DISABLE_TIMEOUT", "RCCL_NO_ERRORS", "HSA_IGNORE_PAGE_FAULTS",
                             "ROCR_FORCE_GFX", "MIOPEN_DISABLE_FIND", "HIP_DISABLE_ERRORS", "AMD_GPU_TIMEOUT",
                             "PYTORCH_CUDA_MEMORY_LIMIT", "CUDA_DISABLE_ECC_ERRORS", "CUDA_FORCE_SM"})
        for (const std::string& document :
             {"export " + std::string(name) + "=1", "FROM x\nENV " + std::string(name) + " 1\n",
              "os.environ[\"" + std::string(name) + "\"] = \"1\"", std::string(name) + "=1 python train.py"})
            EXPECT_EQ(condemned_marks(document).size(), 1U) << document;
}

TEST(UnknownNames, OfOtherProgramsAreNot) {
    for (const char* document :
         {"export CUDA_BATCH=4", "ENV CUDA_VERSION=12.4.1", "ARG CUDA_ENABLE_EXTRAS=1\n", "CUDA_LIMIT = 4",
          "export CUDA_EXTRA_LIMIT=4\npython train.py --limit $CUDA_EXTRA_LIMIT\n",
          "Our scripts read `NCCL_TRAIN_RUN=7`.", "cmake -DCUDA_ENABLE_LTO=ON ..", "export PYTORCH_IMAGE=x",
          "if CUDA_ENABLE_X == 1", "export HIP_PLATFORM=amd", "export MY_NCCL_SHM_SIZE=1"})
        EXPECT_TRUE(condemned_marks(document).empty()) << document;
}

/// Names from the sources of NCCL, RCCL, ROCR, clr, MIOpen and PyTorch, of old and new releases.
TEST(UnknownNames, NamesThatExistAreNot) {
    for (const char* name : {"NCCL_IB_HCA",
                             "NCCL_TOPO_FILE",
                             "NCCL_NVLS_ENABLE",
                             "NCCL_LL_THRESHOLD",
                             "NCCL_CUMEM_ENABLE",
                             "NCCL_TREE_THRESHOLD",
                             "NCCL_ASYNC_ERROR_HANDLING",
                             "NCCL_UCX_TLS",
                             "NCCL_RINGS",
                             "NCCL_IB_QPS_PER_CONNECTION",
                             "NCCL_MAX_CTAS",
                             "RCCL_MSCCL_ENABLE",
                             "HSA_TOOLS_LIB",
                             "HSA_SCRATCH_MEM",
                             "HSA_OVERRIDE_GFX_VERSION_1",
                             "HSA_WAIT_ANY_DEBUG",
                             "ROCR_VISIBLE_DEVICES",
                             "MIOPEN_DEBUG_CONV_GEMM",
                             "MIOPEN_LOG_LEVEL",
                             "MIOPEN_ENABLE_LOGGING_MPMT",
                             "HIP_TRACE_API",
                             "HIP_FORCE_DEV_KERNARG",
                             "HIP_SKIP_ABORT_ON_GPU_ERROR",
                             "AMD_OCL_WAIT_COMMAND",
                             "AMD_LOG_ASYNC",
                             "PYTORCH_ENABLE_MPS_FALLBACK",
                             "PYTORCH_NO_CUDA_MEMORY_CACHING",
                             "PYTORCH_JIT_LOG_LEVEL",
                             "CUDA_DISABLE_PTX_JIT",
                             "CUDA_FORCE_PTX_JIT",
                             "CUDA_SCALE_LAUNCH_QUEUES",
                             "CUDA_LAUNCH_BLOCKING",
                             "CUDA_ENABLE_COREDUMP_ON_EXCEPTION",
                             "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"})
        EXPECT_TRUE(condemned_marks("export " + std::string(name) + "=1").empty()) << name;
}

} // namespace
} // namespace rekindle::doctor
