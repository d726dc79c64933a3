#include "probes/driver_library.h"
#include "probes/known_answer.h"

#include <array>
#include <cstdint>

namespace rekindle::doctor {

namespace {

using DevicePointer = std::uint64_t;

std::string cuda_name(const SharedLibrary& library, int status) {
    const auto name = library.find<int(int, const char**)>("cuGetErrorName");
    const char* text = nullptr;
    return name != nullptr && name(status, &text) == 0 && text != nullptr ? text : "";
}

DriverLibrary open_cuda(const ProbeReport& report) {
    report.at("loading libcuda.so.1");
    const std::vector<std::string> names{"libcuda.so.1"};
    // Under WSL the driver's library is where no linker looks on its own.
    const std::vector<std::string> folders{"/usr/lib/wsl/lib"};
    return {SharedLibrary::open(names, folders), report, cuda_name};
}

void report_absence_of_cuda(const ProbeReport& report, ProbeResult result, const SharedLibrary& library) {
    if (library.broken())
        report.failed(std::move(result), library.problem());
    else
        report.skipped(std::move(result), library.problem());
}

int attribute(const DriverLibrary& cuda, int which, int device) {
    int value = 0;
    cuda.call("cuDeviceGetAttribute", &value, which, device);
    return value;
}

ProbeResult describe_cuda_device(const DriverLibrary& cuda, int ordinal, const ProbeReport& report) {
    constexpr int compute_capability_major = 75;
    constexpr int compute_capability_minor = 76;
    int device = 0;
    std::array<char, 256> name{};
    std::array<char, 64> address{};
    std::size_t memory = 0;
    cuda.call("cuDeviceGet", &device, ordinal);
    cuda.call("cuDeviceGetName", name.data(), static_cast<int>(name.size()), device);
    cuda.call("cuDeviceGetPCIBusId", address.data(), static_cast<int>(address.size()), device);
    cuda.call("cuDeviceTotalMem_v2", &memory, device);
    const std::string text = fmt::format("cuda:{}", ordinal);
    ProbeResult result = report.result(address[0] != '\0' ? address.data() : text);
    for (char& letter : result.device)
        letter = static_cast<char>(letter >= 'A' && letter <= 'F' ? letter - 'A' + 'a' : letter);
    result.values = {
        {"ordinal", text},
        {"name", name.data()},
        {"memory_total", std::to_string(memory)},
        {"compute_capability", fmt::format("{}.{}", attribute(cuda, compute_capability_major, device),
                                           attribute(cuda, compute_capability_minor, device))}};
    return result;
}

void describe_cuda(const DriverLibrary& cuda, const ProbeRequest& request, const ProbeReport& report,
                   ProbeResult& host) {
    int version = 0;
    cuda.call("cuDriverGetVersion", &version);
    host.values["driver_cuda"] = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
    const int status = cuda.status_of("cuInit", 0U);
    if (status != 0 && request.first("gpus") == "0")
        return report.skipped(host, "no NVIDIA GPU on this host", cuda.text_of(status));
    if (status != 0)
        throw CallFailed("cuInit", cuda.text_of(status));
    int count = 0;
    cuda.call("cuDeviceGetCount", &count);
    report.passed_with_devices(host, count,
                               [&](int ordinal) { return describe_cuda_device(cuda, ordinal, report); });
}

/// For every GPU since Maxwell: the driver compiles it for the GPU that is present.
constexpr const char* kernel_text = R"(
.version 6.0
.target sm_50
.address_size 64
.visible .entry vector_add(.param .u64 left, .param .u64 right, .param .u64 total, .param .u32 size) {
    .reg .pred %outside;
    .reg .f32 %f<4>;
    .reg .b32 %r<6>;
    .reg .b64 %a<8>;
    ld.param.u32 %r1, [size];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %outside, %r5, %r1;
    @%outside bra done;
    ld.param.u64 %a1, [left];
    ld.param.u64 %a2, [right];
    ld.param.u64 %a3, [total];
    cvta.to.global.u64 %a1, %a1;
    cvta.to.global.u64 %a2, %a2;
    cvta.to.global.u64 %a3, %a3;
    mul.wide.u32 %a4, %r5, 4;
    add.u64 %a5, %a1, %a4;
    add.u64 %a6, %a2, %a4;
    add.u64 %a7, %a3, %a4;
    ld.global.f32 %f1, [%a5];
    ld.global.f32 %f2, [%a6];
    add.f32 %f3, %f1, %f2;
    st.global.f32 [%a7], %f3;
done:
    ret;
}
)";

std::string mistake_of_kernel(const DriverLibrary& cuda) {
    VectorAdd question;
    std::array<DevicePointer, 3> buffers{};
    const std::array<float*, 3> host{question.left.data(), question.right.data(), question.sum.data()};
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        cuda.call("cuMemAlloc_v2", &buffers[i], VectorAdd::bytes);
        cuda.call("cuMemcpyHtoD_v2", buffers[i], static_cast<const void*>(host[i]), VectorAdd::bytes);
    }
    void* module = nullptr;
    void* kernel = nullptr;
    cuda.call("cuModuleLoadData", &module, static_cast<const void*>(kernel_text));
    cuda.call("cuModuleGetFunction", &kernel, module, "vector_add");
    unsigned size = VectorAdd::size;
    std::array<void*, 4> parameters{&buffers[0], &buffers[1], &buffers[2], &size};
    void* const stream = nullptr;
    void** const extra = nullptr;
    cuda.call("cuLaunchKernel", kernel, VectorAdd::blocks, 1U, 1U, VectorAdd::block, 1U, 1U, 0U, stream,
              parameters.data(), extra);
    cuda.call("cuCtxSynchronize");
    cuda.call("cuMemcpyDtoH_v2", static_cast<void*>(question.sum.data()), buffers[2], VectorAdd::bytes);
    for (const DevicePointer buffer : buffers)
        cuda.call("cuMemFree_v2", buffer);
    return question.mistake();
}

/// By its number, or by its address if the number is not known yet.
int find_device(const DriverLibrary& cuda, const ProbeRequest& request) {
    int device = 0;
    if (request.first("device").empty())
        cuda.call("cuDeviceGetByPCIBusId", &device, request.first("address").c_str());
    else
        cuda.call("cuDeviceGet", &device, request.device());
    return device;
}

void use_device(const DriverLibrary& cuda, const ProbeRequest& request, ProbeResult& result) {
    void* context = nullptr;
    cuda.call("cuInit", 0U);
    const int device = find_device(cuda, request);
    cuda.call("cuDevicePrimaryCtxRetain", &context, device);
    cuda.call("cuCtxSetCurrent", context);
    std::size_t free = 0;
    std::size_t total = 0;
    cuda.call("cuMemGetInfo_v2", &free, &total);
    result.values["memory_free"] = std::to_string(free);
    result.values["memory_total"] = std::to_string(total);
}

} // namespace

void probe_cuda_driver(const ProbeRequest& request, const ProbeReport& report) {
    ProbeResult host = report.result();
    const DriverLibrary cuda = open_cuda(report);
    if (!cuda.file())
        return report_absence_of_cuda(report, host, cuda.file());
    host.values["library"] = cuda.file().path();
    try {
        describe_cuda(cuda, request, report, host);
    } catch (const CallFailed& failure) {
        report.failed(host, failure.what(), failure.code());
    }
}

void probe_cuda_vector_add(const ProbeRequest& request, const ProbeReport& report) {
    const std::string number = request.first("device");
    const std::string address = request.first("address");
    ProbeResult result = report.result(address.empty() ? "cuda:" + number : address);
    if (!number.empty())
        result.values["ordinal"] = "cuda:" + number;
    const DriverLibrary cuda = open_cuda(report);
    if (!cuda.file())
        return report_absence_of_cuda(report, result, cuda.file());
    try {
        use_device(cuda, request, result);
        const std::string mistake = mistake_of_kernel(cuda);
        if (!mistake.empty())
            return report.failed(result, "the GPU's sum of two vectors is wrong: " + mistake);
        report.passed(result);
    } catch (const CallFailed& failure) {
        report.failed(result, failure.what(), failure.code());
    }
}

} // namespace rekindle::doctor
