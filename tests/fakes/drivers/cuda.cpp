/// A CUDA driver whose GPU is host memory and whose only kernel adds two vectors.

#include "behavior.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {
constexpr std::size_t memory_size = std::size_t{24} << 30;
int object;

float* pointer(std::uint64_t buffer) {
    return reinterpret_cast<float*>(buffer);
}
} // namespace

FAKE_DRIVER int cuGetErrorName(int status, const char** name) {
    *name = status == 100 ? "CUDA_ERROR_NO_DEVICE" : status == 209 ? "CUDA_ERROR_NO_BINARY_FOR_GPU" : nullptr;
    return *name != nullptr ? 0 : 1;
}

FAKE_DRIVER int cuDriverGetVersion(int* version) {
    *version = 12040;
    return fake_driver::behave("cuDriverGetVersion");
}

FAKE_DRIVER int cuInit(unsigned) {
    return fake_driver::device_count() == 0 ? 100 : fake_driver::behave("cuInit");
}

FAKE_DRIVER int cuDeviceGetCount(int* count) {
    *count = fake_driver::device_count();
    return fake_driver::behave("cuDeviceGetCount");
}

FAKE_DRIVER int cuDeviceGet(int* device, int ordinal) {
    *device = ordinal;
    return fake_driver::behave("cuDeviceGet");
}

FAKE_DRIVER int cuDeviceGetName(char* text, int size, int) {
    std::snprintf(text, static_cast<std::size_t>(size), "A made-up GPU");
    return fake_driver::behave("cuDeviceGetName");
}

FAKE_DRIVER int cuDeviceGetByPCIBusId(int* device, const char* address) {
    *device = static_cast<int>(std::strtol(address + 5, nullptr, 16)) - 0x1A; // as cuDeviceGetPCIBusId has it
    return fake_driver::behave("cuDeviceGetByPCIBusId");
}

FAKE_DRIVER int cuDeviceGetPCIBusId(char* text, int size, int device) {
    std::snprintf(text, static_cast<std::size_t>(size), "0000:%02X:00.0", device + 0x1A);
    return fake_driver::behave("cuDeviceGetPCIBusId");
}

FAKE_DRIVER int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
    *bytes = memory_size;
    return fake_driver::behave("cuDeviceTotalMem_v2");
}

FAKE_DRIVER int cuDeviceGetAttribute(int* value, int attribute, int) {
    *value = attribute == 75 ? 8 : 6;
    return fake_driver::behave("cuDeviceGetAttribute");
}

FAKE_DRIVER int cuDevicePrimaryCtxRetain(void** context, int) {
    *context = &object;
    return fake_driver::behave("cuDevicePrimaryCtxRetain");
}

FAKE_DRIVER int cuCtxSetCurrent(void*) {
    return fake_driver::behave("cuCtxSetCurrent");
}

FAKE_DRIVER int cuMemGetInfo_v2(std::size_t* available, std::size_t* total) {
    *available = memory_size / 2;
    *total = memory_size;
    return fake_driver::behave("cuMemGetInfo_v2");
}

FAKE_DRIVER int cuMemAlloc_v2(std::uint64_t* buffer, std::size_t size) {
    *buffer = reinterpret_cast<std::uint64_t>(std::malloc(size));
    return fake_driver::behave("cuMemAlloc_v2");
}

FAKE_DRIVER int cuMemFree_v2(std::uint64_t buffer) {
    std::free(pointer(buffer));
    return fake_driver::behave("cuMemFree_v2");
}

FAKE_DRIVER int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t size) {
    std::memcpy(pointer(to), from, size);
    return fake_driver::behave("cuMemcpyHtoD_v2");
}

FAKE_DRIVER int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t size) {
    std::memcpy(to, pointer(from), size);
    return fake_driver::behave("cuMemcpyDtoH_v2");
}

FAKE_DRIVER int cuModuleLoadData(void** module, const void* text) {
    *module = &object;
    const bool is_ptx = std::strstr(static_cast<const char*>(text), ".entry vector_add(") != nullptr;
    return is_ptx ? fake_driver::behave("cuModuleLoadData") : 209;
}

FAKE_DRIVER int cuModuleGetFunction(void** function, void*, const char*) {
    *function = &object;
    return fake_driver::behave("cuModuleGetFunction");
}

FAKE_DRIVER int cuLaunchKernel(void*, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned,
                               unsigned, unsigned, void*, void** parameters, void**) {
    const int status = fake_driver::behave("cuLaunchKernel");
    if (status != 0)
        return status;
    const auto buffer = [&](int i) { return pointer(*static_cast<std::uint64_t*>(parameters[i])); };
    const unsigned size = *static_cast<unsigned*>(parameters[3]);
    // "wrong": the last block is forgotten.
    const unsigned computed = (fake_driver::wrong("cuLaunchKernel") ? blocks - 1 : blocks) * threads;
    for (unsigned i = 0; i < computed && i < size; ++i)
        buffer(2)[i] = buffer(0)[i] + buffer(1)[i];
    return 0;
}

FAKE_DRIVER int cuCtxSynchronize() {
    return fake_driver::behave("cuCtxSynchronize");
}
