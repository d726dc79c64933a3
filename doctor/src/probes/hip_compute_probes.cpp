#include "probes/hip_library.h"
#include "probes/known_answer.h"

#include <array>
#include <span>

namespace rekindle::doctor {

namespace {

constexpr std::array hipblas_statuses{
    "HIPBLAS_STATUS_SUCCESS",           "HIPBLAS_STATUS_NOT_INITIALIZED", "HIPBLAS_STATUS_ALLOC_FAILED",
    "HIPBLAS_STATUS_INVALID_VALUE",     "HIPBLAS_STATUS_MAPPING_ERROR",   "HIPBLAS_STATUS_EXECUTION_FAILED",
    "HIPBLAS_STATUS_INTERNAL_ERROR",    "HIPBLAS_STATUS_NOT_SUPPORTED",   "HIPBLAS_STATUS_ARCH_MISMATCH",
    "HIPBLAS_STATUS_HANDLE_IS_NULLPTR", "HIPBLAS_STATUS_INVALID_ENUM",    "HIPBLAS_STATUS_UNKNOWN",
};
constexpr std::array rocblas_statuses{
    "rocblas_status_success",
    "rocblas_status_invalid_handle",
    "rocblas_status_not_implemented",
    "rocblas_status_invalid_pointer",
    "rocblas_status_invalid_size",
    "rocblas_status_memory_error",
    "rocblas_status_internal_error",
    "rocblas_status_perf_degraded",
    "rocblas_status_size_query_mismatch",
    "rocblas_status_size_increased",
    "rocblas_status_size_unchanged",
    "rocblas_status_invalid_value",
    "rocblas_status_continue",
    "rocblas_status_check_numerics_fail",
    "rocblas_status_excluded_from_build",
    "rocblas_status_arch_mismatch",
};

StatusName named(std::span<const char* const> names) {
    return [names](const SharedLibrary&, int status) -> std::string {
        const auto index = static_cast<std::size_t>(status);
        return status >= 0 && index < names.size() ? names[index] : "";
    };
}

/// A library function that returns the name of a status, such as "hiprtcGetErrorString".
StatusName named_by(const char* function) {
    return [function](const SharedLibrary& library, int status) -> std::string {
        const auto name = library.find<const char*(int)>(function);
        const char* text = name != nullptr ? name(status) : nullptr;
        return text != nullptr ? text : "";
    };
}

/// Runs `body` and reports what it throws as the failure of `result`.
template <class Body>
void reporting(const ProbeReport& report, ProbeResult& result, const Body& body) {
    try {
        body();
    } catch (const CallFailed& failure) {
        report.failed(result, failure.what(), failure.code());
    }
}

void choose_device(const DriverLibrary& hip, int device, ProbeResult& result) {
    hip.call("hipSetDevice", device);
    std::size_t free = 0;
    std::size_t total = 0;
    hip.call("hipMemGetInfo", &free, &total);
    result.values["memory_free"] = std::to_string(free);
    result.values["memory_total"] = std::to_string(total);
}

/// Runs `body` with HIP and the result of the request's device, which is the current one of the thread.
template <class Body>
void on_device(const ProbeRequest& request, const ProbeReport& report, const Body& body) {
    const DriverLibrary hip = open_hip(request, report);
    if (!hip.file())
        return report_absence(report, report.result(), hip.file());
    ProbeResult result = result_of_device(request, report, hip);
    reporting(report, result, [&] {
        choose_device(hip, request.device(), result);
        body(hip, result);
    });
}

void create_and_destroy(const DriverLibrary& library, const char* create, const char* destroy) {
    void* handle = nullptr;
    library.call(create, &handle);
    library.call(destroy, handle);
}

/// The code of a kernel for the current device.
std::vector<char> compile(const DriverLibrary& hiprtc, const char* source, ProbeResult& result) {
    void* program = nullptr;
    const char* const* none = nullptr;
    hiprtc.call("hiprtcCreateProgram", &program, source, "vector_add.hip", 0, none, none);
    const int status = hiprtc.status_of("hiprtcCompileProgram", program, 0, none);
    if (status != 0) {
        std::size_t size = 0;
        hiprtc.call("hiprtcGetProgramLogSize", program, &size);
        std::string log(size, '\0');
        hiprtc.call("hiprtcGetProgramLog", program, log.data());
        result.values["compiler_log"] = log.substr(0, log.find('\0'));
        throw CallFailed("hiprtcCompileProgram", hiprtc.text_of(status));
    }
    std::size_t size = 0;
    hiprtc.call("hiprtcGetCodeSize", program, &size);
    std::vector<char> code(size);
    hiprtc.call("hiprtcGetCode", program, code.data());
    hiprtc.call("hiprtcDestroyProgram", &program);
    return code;
}

/// Runs the kernel `vector_add` of `code` on the known problem.
std::string mistake_of_kernel(const DriverLibrary& hip, const std::vector<char>& code) {
    constexpr int to_device = 1;
    constexpr int to_host = 2;
    VectorAdd question;
    std::array<void*, 3> buffers{};
    const std::array<float*, 3> host{question.left.data(), question.right.data(), question.sum.data()};
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        hip.call("hipMalloc", &buffers[i], VectorAdd::bytes);
        hip.call("hipMemcpy", buffers[i], static_cast<const void*>(host[i]), VectorAdd::bytes, to_device);
    }
    void* module = nullptr;
    void* kernel = nullptr;
    hip.call("hipModuleLoadData", &module, static_cast<const void*>(code.data()));
    hip.call("hipModuleGetFunction", &kernel, module, "vector_add");
    int size = VectorAdd::size;
    std::array<void*, 4> parameters{&buffers[0], &buffers[1], &buffers[2], &size};
    void* const stream = nullptr;
    void** const extra = nullptr;
    hip.call("hipModuleLaunchKernel", kernel, VectorAdd::blocks, 1U, 1U, VectorAdd::block, 1U, 1U, 0U, stream,
             parameters.data(), extra);
    hip.call("hipDeviceSynchronize");
    hip.call("hipMemcpy", static_cast<void*>(question.sum.data()), static_cast<const void*>(buffers[2]),
             VectorAdd::bytes, to_host);
    for (void* buffer : buffers)
        hip.call("hipFree", buffer);
    return question.mistake();
}

constexpr const char* kernel_source = R"(
extern "C" __global__ void vector_add(const float* left, const float* right, float* sum, int size) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size)
        sum[i] = left[i] + right[i];
}
)";

} // namespace

void probe_blas_handle(const ProbeRequest& request, const ProbeReport& report) {
    on_device(request, report, [&](const DriverLibrary& hip, ProbeResult& result) {
        report.at("loading libhipblas");
        SharedLibrary blas = open_next_to(
            hip.file(), request,
            {"libhipblas.so.3", "libhipblas.so.2", "libhipblas.so.1", "libhipblas.so.0", "libhipblas.so"});
        if (blas) {
            result.values["library"] = blas.path();
            create_and_destroy({std::move(blas), report, named(hipblas_statuses)}, "hipblasCreate",
                               "hipblasDestroy");
            return report.passed(result);
        }
        if (blas.broken())
            return report.failed(result, blas.problem());
        report.at("loading librocblas");
        blas = open_next_to(
            hip.file(), request,
            {"librocblas.so.5", "librocblas.so.4", "librocblas.so.3", "librocblas.so.0", "librocblas.so"});
        if (!blas)
            return report_absence(report, result, blas);
        result.values["library"] = blas.path();
        create_and_destroy({std::move(blas), report, named(rocblas_statuses)}, "rocblas_create_handle",
                           "rocblas_destroy_handle");
        report.passed(result);
    });
}

void probe_hiprtc_vector_add(const ProbeRequest& request, const ProbeReport& report) {
    on_device(request, report, [&](const DriverLibrary& hip, ProbeResult& result) {
        report.at("loading libhiprtc");
        SharedLibrary file = open_next_to(
            hip.file(), request, {"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so"});
        if (!file && hip.file().find<int()>("hiprtcCreateProgram") != nullptr)
            file = hip.file(); // ROCm 4 and 5 have it there
        if (!file)
            return report_absence(report, result, file);
        result.values["library"] = file.path();
        const DriverLibrary hiprtc(std::move(file), report, named_by("hiprtcGetErrorString"));
        const std::string mistake = mistake_of_kernel(hip, compile(hiprtc, kernel_source, result));
        if (!mistake.empty())
            return report.failed(result, "the GPU's sum of two vectors is wrong: " + mistake);
        report.passed(result);
    });
}

void probe_rccl(const ProbeRequest& request, const ProbeReport& report) {
    ProbeResult result = report.result();
    const DriverLibrary hip = open_hip(request, report);
    if (!hip.file())
        return report_absence(report, result, hip.file());
    report.at("loading librccl");
    SharedLibrary file = open_next_to(hip.file(), request, {"librccl.so.1", "librccl.so"});
    if (!file)
        return report_absence(report, result, file);
    result.values["library"] = file.path();
    const DriverLibrary rccl(std::move(file), report, named_by("ncclGetErrorString"));
    reporting(report, result, [&] {
        int version = 0;
        rccl.call("ncclGetVersion", &version);
        result.values["version"] = std::to_string(version);
        const int devices = request.number("devices");
        if (devices >= 2) {
            const int* const all_of_them = nullptr;
            std::vector<void*> communicators(static_cast<std::size_t>(devices));
            rccl.call("ncclCommInitAll", communicators.data(), devices, all_of_them);
            for (void* communicator : communicators)
                rccl.call("ncclCommDestroy", communicator);
            result.values["devices"] = std::to_string(devices);
        }
        report.passed(result);
    });
}

} // namespace rekindle::doctor
