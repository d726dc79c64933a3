/// One log for each class of message, worded differently from the posted runs: other libraries, versions,
/// paths, and languages. The doctor must name the class's cause first.

#include "log/log_diagnoser.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace rekindle::doctor {
namespace {

struct Form {
    const char* log;
    const char* cause;
};

std::string first_cause(LogDiagnoser& diagnoser, std::string_view text, const Facts& facts = {}) {
    const LogDiagnosis diagnosis = diagnoser.diagnose(log_from_text(text, "written for this test"), facts);
    return diagnosis.findings.empty() ? "" : diagnosis.findings.front().cause;
}

template <std::size_t n>
void expect_causes(const Form (&forms)[n]) {
    LogDiagnoser diagnoser(embedded_knowledge());
    for (const Form& form : forms)
        EXPECT_EQ(first_cause(diagnoser, form.log), form.cause) << form.log;
}

TEST(SignatureClasses, LibrariesOfAnotherVersion) {
    expect_causes({
        {"OSError: /srv/env/lib/python3.11/site-packages/nvidia/cudnn/lib/libcudnn_graph.so.9: undefined "
         "symbol: cudnnGetLibConfig",
         "foreign-cuda-libraries"},
        {"ImportError: /a/site-packages/torch/lib/libtorch_cuda.so: undefined symbol: ncclCommWindowRegister",
         "foreign-cuda-libraries"},
        {"Could not load library libcudnn_ops_infer.so.8. Error: libcudnn_ops_infer.so.8: cannot open shared "
         "object file: No such file or directory",
         "foreign-cuda-libraries"},
        {"RuntimeError: cuDNN version incompatibility: PyTorch was compiled against (9, 1, 0) but found "
         "runtime version (8, 9, 2).",
         "foreign-cuda-libraries"},
        {"python: symbol lookup error: /usr/lib/libcublas.so.12: undefined symbol: "
         "cublasLtMatmulPreferenceInit, version libcublasLt.so.12",
         "foreign-cuda-libraries"},
    });
}

TEST(SignatureClasses, ExtensionsOfAnotherTorch) {
    expect_causes({
        {"ImportError: /env/lib/python3.12/site-packages/torch_scatter/_scatter_cuda.so: undefined symbol: "
         "_ZN3c1021throwNullDataPtrErrorEv",
         "extension-built-for-other-torch"},
        {"ImportError: /x/apex/amp_C.cpython-39-x86_64-linux-gnu.so: undefined symbol: "
         "_ZNK2at6Tensor8data_ptrIfEEPT_v",
         "extension-built-for-other-torch"},
        {"RuntimeError: Couldn't load custom C++ ops. This can happen if your PyTorch and torchvision "
         "versions are incompatible",
         "extension-built-for-other-torch"},
        {"RuntimeError: Detected that PyTorch and TorchAudio were compiled with different CUDA versions. "
         "PyTorch has CUDA version 12.8 whereas TorchAudio has CUDA version 12.6.",
         "extension-built-for-other-torch"},
        {"OSError: [WinError 127] The specified procedure could not be found. Error loading "
         "\"D:\\env\\Lib\\site-packages\\torchaudio\\lib\\libtorchaudio.pyd\"",
         "extension-built-for-other-torch"},
        {"import flash_attn_2_cuda as flash_attn_gpu\nImportError: libcudart.so.11.0: cannot open shared "
         "object file: No such file or directory",
         "extension-built-for-other-torch"},
        {"CUDA error (/build/csrc/flash_attn/flash_fwd_launch_template.h:89): no kernel image is available "
         "for execution on the device",
         "extension-lacks-gfx"},
        {"RuntimeError: FlashAttention only supports Ampere GPUs or newer.", "extension-lacks-gfx"},
    });
}

TEST(SignatureClasses, TritonAndCompilers) {
    expect_causes({
        {"ptxas fatal   : Value 'sm_103a' is not defined for option 'gpu-name'", "triton-older-than-gpu"},
        {"'sm_121' is not a recognized processor for this target (ignoring processor)\nLLVM ERROR: Cannot "
         "select: intrinsic %llvm.nvvm.shfl",
         "triton-older-than-gpu"},
        {"RuntimeError: Triton Error [CUDA]: device kernel image is invalid", "triton-older-than-gpu"},
        {"/usr/bin/ld: cannot find -lcuda: No such file or directory", "libcuda-link-missing"},
        {"AssertionError: libcuda.so cannot found!", "libcuda-link-missing"},
        {"main.c:1:10: fatal error: 'Python.h' file not found", "python-headers-missing"},
        {"RuntimeError: Failed to find C compiler. Please specify via CC environment variable.",
         "compiler-missing"},
        {"RuntimeError: Ninja is required to load C++ extensions", "compiler-missing"},
        {"error: #error -- unsupported GNU version! gcc versions later than 13 are not supported!",
         "compiler-unfit"},
        {"RuntimeError: The detected CUDA version (13.0) mismatches the version that was used to compile",
         "nvcc-differs-from-torch-cuda"},
        {"OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root.",
         "cuda-toolkit-missing"},
        {"libtorch_cpu.so: undefined symbol: iJIT_IsProfilingActive", "mkl-too-new-for-torch"},
        {"OMP: Error #15: Initializing libomp140.x86_64.dll, but found libiomp5md.dll already initialized.",
         "openmp-loaded-twice"},
        {"ImportError: libGL.so.1: cannot open shared object file: No such file or directory",
         "system-library-missing"},
        {"ImportError: /lib/libgomp.so.1: cannot allocate memory in static TLS block",
         "static-tls-exhausted"},
        {"AttributeError: module 'numpy' has no attribute 'bool'", "numpy-too-new-for-program"},
        {"ModuleNotFoundError: No module named 'torch'", "wrong-python-environment"},
        {"ImportError: cannot import name 'cached_download' from 'huggingface_hub'", "packages-incompatible"},
        {"AttributeError: module 'torch._C' has no attribute '_cuda_setDevice'",
         "python-environment-damaged"},
    });
}

TEST(SignatureClasses, NvidiaDriverAndHardware) {
    expect_causes({
        {"RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized",
         "fabric-manager-not-running"},
        {"cuInit(0) returned CUDA_ERROR_SYSTEM_NOT_READY", "fabric-manager-not-running"},
        {"node7:91:112 [3] transport/nvls.cc:254 NCCL WARN Cuda failure 1 'invalid argument'",
         "nvls-multicast-broken"},
        {"NVRM: Xid (PCI:0000:41:00): 119, pid=2211, Timeout after 45s of waiting for RPC response from "
         "GPU1 GSP! Expected function 76",
         "gsp-firmware-timeout"},
        {"NVRM: Xid (PCI:0000:c1:00): 94, pid=99, name=python, Contained: SM", "gpu-hardware-fault"},
        {"kernel: NVRM: GPU at PCI:0000:01:00: GPU-1\nkernel: NVRM: GPU has fallen off the bus.",
         "gpu-off-the-bus"},
        {"cuInit failed: CUDA_ERROR_NOT_INITIALIZED", "nvidia-uvm-hmm-init-failure"},
        {"RuntimeError: CUDA unknown error - this may be due to an incorrectly set up environment\nls: "
         "cannot "
         "access '/dev/nvidia-uvm': No such file or directory",
         "nvidia-uvm-device-missing"},
        {"kernel: PM: suspend exit\nE0000 failed call to cuInit: CUDA_ERROR_UNKNOWN: unknown error",
         "nvidia-broken-after-suspend"},
        {"CUDA error: an illegal memory access was encountered", "cuda-kernel-fault"},
    });
}

TEST(SignatureClasses, ContainersAndWsl) {
    expect_causes({
        {"Failed to initialize NVML: Unknown Error", "container-lost-devices"},
        {"docker: Error response from daemon: unknown or invalid runtime name: nvidia.",
         "nvidia-container-toolkit-missing"},
        {"Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all",
         "nvidia-container-toolkit-missing"},
        {"nvidia-container-cli: mount error: failed to add device rules: operation not permitted",
         "rootless-container-needs-no-cgroups"},
        {"nvidia-container-cli: mount error: file creation failed: /x/libnvidia-ml.so.1: file exists",
         "container-image-has-driver-files"},
        {"RuntimeError: DataLoader worker (pid 88) is killed by signal: Bus error. It is possible that "
         "dataloader's workers are out of shared memory.",
         "container-shm-too-small"},
        {"kernel 5.15.167.4-microsoft-standard-WSL2\nOSError: libcuda.so: cannot open shared object file",
         "wsl-libcuda-not-on-path"},
        {"Linux pc 6.6.87.2-microsoft-standard-WSL2\nRuntimeError: CUDA error: out of memory",
         "wsl-memory-limit"},
    });
}

TEST(SignatureClasses, ProcessesThatCommunicate) {
    expect_causes({
        {"NCCL INFO NET/Socket : Using [0]docker0:172.17.0.1<0>\nsocket.cc:540 NCCL WARN Net : Connect to "
         "172.17.0.1<51234> failed : Connection refused",
         "nccl-wrong-interface"},
        {"enqueue.cc:33 NCCL WARN Cuda failure 'no kernel image is available for execution on the device'",
         "nccl-too-old-for-gpu"},
        {"init.cc:795 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 81000",
         "nccl-duplicate-gpu"},
        {"RuntimeError: Distributed package doesn't have NCCL built in", "nccl-not-built-in"},
        {"RuntimeError: Cannot re-initialize CUDA in forked subprocess.", "user-program-cuda-in-fork"},
        {"RuntimeError: The server socket has failed to listen on any local network address. port: 29500, "
         "code: -98, name: EADDRINUSE",
         "user-program-port-in-use"},
    });
}

TEST(SignatureClasses, Windows) {
    expect_causes({
        {"OSError: [WinError 126] The specified module could not be found. Error loading "
         "\"D:\\zluda\\venv\\Lib\\site-packages\\torch\\lib\\cublas64_11.dll\" or one of its dependencies.",
         "windows-hip-sdk-not-on-path"},
        {"OSError: [WinError 126] The specified module could not be found. Error loading "
         "\"C:\\e\\torch\\lib\\shm.dll\" or one of its dependencies.",
         "windows-dll-missing"},
        {"OSError: [WinError 1114] Error loading \"C:\\e\\torch\\lib\\c10.dll\" or one of its dependencies.",
         "windows-msvc-runtime-missing"},
        {"OSError: [WinError 1455] The paging file is too small for this operation to complete.",
         "windows-paging-file-too-small"},
        {"RuntimeError: An attempt has been made to start a new process before the current process has "
         "finished its bootstrapping phase.",
         "windows-spawn-without-main-guard"},
        {"UserWarning: Error checking compiler version for cl: [WinError 2]", "windows-compiler-missing"},
        {"UserWarning: The operator 'aten::lerp.Scalar_out' is not currently supported on the DML backend "
         "and "
         "will fall back to run on the CPU.",
         "directml-operator-on-cpu"},
        {"error: Distribution `torch==2.9.1` can't be installed because it doesn't have a source "
         "distribution "
         "or wheel for the current platform",
         "no-such-wheel"},
    });
}

TEST(SignatureClasses, MemoryAndVulkan) {
    expect_causes({
        {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity "
         "of 8.00 GiB of which 5.10 GiB is free. Of the allocated memory 1.20 GiB is allocated by PyTorch, "
         "and 10.00 MiB is reserved by PyTorch but unallocated.",
         "oom-free-memory-not-usable"},
        {"RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate "
         "memory: you tried to allocate 68719476736 bytes.",
         "host-memory-exhausted"},
        {"slurmstepd: error: Detected 1 oom_kill event in StepId=88.0", "host-memory-exhausted"},
        {"OSError: [Errno 28] No space left on device: '/home/a/checkpoint.pt'", "disk-full"},
        {"ggml_vulkan: Device memory allocation of size 4831838208 failed.", "vk-allocation-limit"},
        {"vkAllocateMemory failed -2", "oom-genuine"},
        {"vkCreateInstance failed -9", "no-vulkan-driver"},
        {"error while loading shared libraries: libvulkan.so.1: cannot open shared object file",
         "vulkan-loader-missing"},
        {"radv_physical_device.c: Could not get the kernel driver version for device /dev/dri/renderD129: "
         "Permission denied (VK_ERROR_INCOMPATIBLE_DRIVER)",
         "sandbox-blocks-device"},
    });
}

TEST(SignatureClasses, TheUsersOwnProgram) {
    expect_causes({
        {"RuntimeError: The size of tensor a (77) must match the size of tensor b (154) at dimension 1",
         "user-program-shape-mismatch"},
        {"FileNotFoundError: [Errno 2] No such file or directory: 'data/train.csv'",
         "user-program-missing-file"},
        {"KeyError: 'input_ids'", "user-program-key-error"},
        {"ValueError: Expected more than 1 spatial element when training, got input size [1, 8, 1]",
         "user-program-batch-of-one"},
        {"RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.",
         "user-program-inplace-modification"},
        {"ValueError: optimizer got an empty parameter list", "user-program-no-gradient"},
        {"RuntimeError: Trying to backward through the graph a second time", "user-program-second-backward"},
        {"RuntimeError: Expected to have finished reduction in the prior iteration before starting a new "
         "one.",
         "user-program-ddp-unused-parameters"},
        {"Parameter at index 73 has been marked as ready twice.", "user-program-ddp-reentrant-checkpoint"},
        {"RuntimeError: indices should be either on cpu or on the same device as the indexed tensor (cpu)",
         "user-program-wrong-device"},
        {"RuntimeError: expected scalar type Half but found Float", "user-program-dtype-mismatch"},
        {"RuntimeError: Error(s) in loading state_dict for Net:\n\tMissing key(s) in state_dict: \"a.b\"",
         "user-program-checkpoint-mismatch"},
        {"KeyError: 'RANK'", "user-program-launcher-mismatch"},
        {"IndexError: Target 10 is out of bounds.", "index-out-of-range"},
        {"_pickle.UnpicklingError: Weights only load failed.", "user-program-safe-load"},
        {"TypeError: Trainer.__init__() got an unexpected keyword argument 'tokenizer'",
         "user-program-api-mismatch"},
    });
}

/// A program's error counts only if it is the last one; the launcher's report after it does not matter.
TEST(SignatureClasses, TheLastErrorLeads) {
    LogDiagnoser diagnoser(embedded_knowledge());
    const std::string key = "Traceback (most recent call last):\n  File \"t.py\", line 7, in <module>\n"
                            "KeyError: 'labels'\n";
    const std::string memory =
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 "
        "has a total capacity of 8.00 GiB of which 0.10 GiB is free. Of the allocated "
        "memory 7.50 GiB is allocated by PyTorch, and 90.00 MiB is reserved by PyTorch "
        "but unallocated.\n";
    EXPECT_EQ(first_cause(diagnoser, key + memory), "oom-genuine");
    EXPECT_EQ(first_cause(diagnoser, key + "torch.distributed.elastic.multiprocessing.errors."
                                           "ChildFailedError:\ntrain.py FAILED\n"),
              "user-program-key-error");
}

TEST(SignatureClasses, LibrariesInTheWordsOfFurtherPrograms) {
    expect_causes({
        {"./trainer: error while loading shared libraries: librocblas.so.5: cannot open shared object file: "
         "No such file or directory",
         "rocm-library-not-found"},
        {"ImportError: /opt/rocm/lib/librccl.so.1: version `hip_6.3' not found (required by libtorch_hip.so)",
         "mixed-rocm-libraries"},
        {"LLVM ERROR: inconsistency in registered CommandLine options\n/opt/rocm/lib/libamd_comgr.so.3\n",
         "mixed-rocm-libraries"},
        {"RuntimeError: CUDA error: CUBLAS_STATUS_INVALID_VALUE when calling `cublasGemmEx( handle, opa)`",
         "foreign-cuda-libraries"},
        {"RuntimeError: Library cublas64_13.dll is not found or cannot be loaded", "cuda-library-not-found"},
        {"W0000 gpu_device.cc:2344] Cannot dlopen some GPU libraries. Skipping registering GPU devices...",
         "cuda-library-not-found"},
        {"RuntimeError: Found cuDNN version 90100, but JAX was built against version 90501, which is newer.",
         "foreign-cuda-libraries"},
        {"WARNING: An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed. "
         "Falling back to cpu.",
         "cpu-wheel"},
        {"ImportError: libc10_cuda.so: cannot open shared object file: No such file or directory",
         "extension-built-for-other-torch"},
        {"AttributeError: /e/bitsandbytes/libbitsandbytes_cpu.so: undefined symbol: "
         "cdequantize_blockwise_fp32",
         "extension-without-this-cuda"},
    });
}

TEST(SignatureClasses, KernelsAndContainersInFurtherWords) {
    expect_causes({
        {"[  812.1] RIP: 0010:svm_range_restore_work+0x91/0x240 [amdgpu]", "kernel-regression"},
        {"amdgpu 0000:03:00.0: amdgpu: qcm fence wait loop timeout expired", "gpu-hang-reset"},
        {"[drm:amdgpu_device_init] *ERROR* hw_init of IP block <gfx_v11_0> failed -110\n",
         "amdgpu-not-loaded"},
        {"amdgpu 0000:2d:00.0: amdgpu: resume of IP block <smu> failed -62\nPM: suspend exit",
         "amdgpu-broken-after-suspend"},
        {"amdgpu 0000:03:00.0: Failed to load gpu_info firmware \"amdgpu/navi99_gpu_info.bin\"",
         "firmware-missing"},
        {"modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.14.0-33-generic",
         "nvidia-driver-missing"},
        {"NVRM: Xid (PCI:0000:3b:00): 109, pid=812, name=python, Ch 00000018", "gpu-hardware-fault"},
        {"    HW Thermal Slowdown               : Active", "gpu-throttled"},
        {"type=AVC msg=audit(1.2:3): avc:  denied  { read write } for  pid=9 comm=\"python\" "
         "name=\"nvidiactl\" scontext=system_u:system_r:container_t",
         "selinux-blocks-device"},
        {"error running hook #0: error running hook nvidia-cdi-hook: unknown flag",
         "nvidia-container-toolkit-unfit"},
        {"E main.go: If this is a GPU node, did you configure the NVIDIA Container Toolkit?",
         "nvidia-container-toolkit-missing"},
        {"RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus\nerror.",
         "container-shm-too-small"},
    });
}

TEST(SignatureClasses, MemoryNetworkVulkanAndWindowsInFurtherWords) {
    expect_causes({
        {"ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9216.00 MiB on device 0: cudaMalloc failed: "
         "out of memory",
         "oom-genuine"},
        {"jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 9 "
         "bytes.",
         "oom-genuine"},
        {"ValueError: Free memory on device (3.1/23.6 GiB) on startup is less than desired GPU memory "
         "utilization (0.9, 21.2 GiB).",
         "vram-held-by-other-process"},
        {"subprocess.CalledProcessError: Command 'train' died with <Signals.SIGKILL: 9>.",
         "host-memory-exhausted"},
        {"DXGI_ERROR_DEVICE_HUNG (0x887A0006): the GPU device instance has been suspended",
         "windows-timeout-reset"},
        {"thread 'main' panicked: No suitable graphics adapter found", "no-vulkan-driver"},
        {"n1:1:2 [0] NCCL INFO NCCL_TOPO_FILE set by environment to /opt/azure/topo.xml\n"
         "ncclInternalError: Internal check failed.",
         "nccl-setting-unfit"},
        {"RuntimeError: CUDA error: peer access is not supported between these two devices",
         "p2p-not-supported"},
        {"n1:1:2 [0] bootstrap.cc:45 NCCL WARN Bootstrap : no socket interface found",
         "nccl-wrong-interface"},
        {"Process finished with exit code -1073741515 (0xC0000135)", "windows-dll-missing"},
        {"The procedure entry point inflateInit2 could not be located in the dynamic link library zlib.dll.",
         "windows-foreign-dll"},
        {"OSError: [WinError 4551] An Application Control policy has blocked this file",
         "windows-file-blocked"},
        {"NotImplementedError: The operator 'aten::linalg_qr' is not currently implemented for the MPS "
         "device.",
         "backend-lacks-operator"},
        {"ERROR: CUDA kernel mul_mat_q has no device code compatible with HIP arch 1030 gfx1030",
         "library-lacks-gfx"},
    });
}

TEST(SignatureClasses, ContextAloneNamesNoCause) {
    LogDiagnoser diagnoser(embedded_knowledge());
    for (const char* text :
         {"NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\nNCCL INFO comm 0x1 rank 0 - Init COMPLETE\n"
          "KeyError: 'labels'\n",
          "W: Possible missing firmware /lib/firmware/amdgpu/vangogh_toc.bin for module amdgpu\n",
          "kernel: PM: suspend exit\nkernel: CUDA-X is a name in this line\n"}) {
        const LogDiagnosis diagnosis = diagnoser.diagnose(log_from_text(text, "context"), {});
        EXPECT_TRUE(std::none_of(diagnosis.findings.begin(), diagnosis.findings.end(),
                                 [](const Finding& one) { return one.primary; }))
            << text;
    }
    const std::string idle = "NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
                             "NCCL INFO comm 0x1 rank 0 - Init COMPLETE\n";
    EXPECT_NE(first_cause(diagnoser, idle + "KeyError: 'labels'\n"), "p2p-hang-acs");
    EXPECT_EQ(first_cause(diagnoser, idle + "the first all_reduce never returns\n"), "p2p-hang-acs");
}

TEST(SignatureClasses, WarningsOfHealthyRunsAreNoProblem) {
    LogDiagnoser diagnoser(embedded_knowledge());
    for (const char* text :
         {"xformers: A matching Triton is not available, some optimizations will not be enabled\n"
          "ModuleNotFoundError: No module named 'triton'\n",
          "2026-01-02 W tf2tensorrt/utils/py_utils.cc:38] TF-TRT Warning: Could not find TensorRT\n",
          "amdgpu 0000:0c:00.0: Direct firmware load for amdgpu/renoir_ta.bin failed with error -2\n",
          "[W reducer.cpp:1389] Warning: find_unused_parameters=True was specified in DDP constructor, but "
          "did not find any unused parameters in the forward pass.\n",
          "rocblaslt error: Cannot read \"TensileLibrary_lazy_gfx1103.dat\": No such file or directory\n",
          "FutureWarning: `torch.cuda.amp.autocast(args...)` is deprecated.\n",
          "WARNING: lavapipe is not a conformant vulkan implementation, testing use only.\n",
          "MIOpen(HIP): Warning [IsEnoughWorkspace] Solver <GemmFwd1x1_0_2>, workspace required: 8, provided "
          "ptr: 0 size: 0\n"}) {
        const LogDiagnosis diagnosis = diagnoser.diagnose(log_from_text(text, "warnings"), {});
        EXPECT_TRUE(std::none_of(diagnosis.findings.begin(), diagnosis.findings.end(),
                                 [](const Finding& one) { return one.severity == Severity::problem; }))
            << text;
    }
}

} // namespace
} // namespace rekindle::doctor
