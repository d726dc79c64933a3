/// A HIP whose GPUs are host memory and whose only kernel adds two vectors.

#include "behavior.h"

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace {

constexpr std::size_t memory_size = std::size_t{20} << 30;
constexpr std::array<std::pair<int, const char*>, 10> names{{
    {0, "hipSuccess"},
    {1, "hipErrorInvalidValue"},
    {2, "hipErrorOutOfMemory"},
    {3, "hipErrorNotInitialized"},
    {98, "hipErrorInvalidDeviceFunction"},
    {100, "hipErrorNoDevice"},
    {101, "hipErrorInvalidDevice"},
    {209, "hipErrorNoBinaryForGpu"},
    {700, "hipErrorIllegalAddress"},
    {719, "hipErrorLaunchFailure"},
}};

int kernel;

} // namespace

FAKE_DRIVER const char* hipGetErrorName(int status) {
    for (const auto& [number, name] : names)
        if (number == status)
            return name;
    return "hipErrorUnknown";
}

FAKE_DRIVER int hipInit(unsigned) {
    return fake_driver::behave("hipInit");
}

FAKE_DRIVER int hipRuntimeGetVersion(int* version) {
    *version = 60241133;
    return fake_driver::behave("hipRuntimeGetVersion");
}

FAKE_DRIVER int hipGetDeviceCount(int* count) {
    *count = fake_driver::device_count();
    return *count == 0 ? 100 : fake_driver::behave("hipGetDeviceCount");
}

FAKE_DRIVER int hipDeviceGetPCIBusId(char* text, int size, int device) {
    std::snprintf(text, static_cast<std::size_t>(size), "0000:%02x:00.0", device + 3);
    return fake_driver::behave("hipDeviceGetPCIBusId");
}

FAKE_DRIVER int hipDeviceGetName(char* text, int size, int) {
    std::snprintf(text, static_cast<std::size_t>(size), "A made-up GPU");
    return fake_driver::behave("hipDeviceGetName");
}

FAKE_DRIVER int hipDeviceTotalMem(std::size_t* bytes, int) {
    *bytes = memory_size;
    return fake_driver::behave("hipDeviceTotalMem");
}

FAKE_DRIVER int hipGetDevicePropertiesR0600(void* properties, int) {
    std::memcpy(properties, "Named after gfx cards", 21);
    std::memcpy(static_cast<char*>(properties) + 1160, "gfx1100", 7);
    return fake_driver::behave("hipGetDevicePropertiesR0600");
}

FAKE_DRIVER int hipSetDevice(int) {
    return fake_driver::behave("hipSetDevice");
}

FAKE_DRIVER int hipMemGetInfo(std::size_t* available, std::size_t* total) {
    *available = memory_size / 2;
    *total = memory_size;
    return fake_driver::behave("hipMemGetInfo");
}

FAKE_DRIVER int hipMalloc(void** buffer, std::size_t size) {
    *buffer = std::malloc(size);
    return fake_driver::behave("hipMalloc");
}

FAKE_DRIVER int hipFree(void* buffer) {
    std::free(buffer);
    return fake_driver::behave("hipFree");
}

FAKE_DRIVER int hipMemcpy(void* to, const void* from, std::size_t size, int) {
    std::memcpy(to, from, size);
    return fake_driver::behave("hipMemcpy");
}

FAKE_DRIVER int hipModuleLoadData(void** module, const void*) {
    *module = &kernel;
    return fake_driver::behave("hipModuleLoadData");
}

FAKE_DRIVER int hipModuleGetFunction(void** function, void*, const char*) {
    *function = &kernel;
    return fake_driver::behave("hipModuleGetFunction");
}

FAKE_DRIVER int hipModuleLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                      unsigned, void*, void** parameters, void**) {
    const int status = fake_driver::behave("hipModuleLaunchKernel");
    if (status != 0 || fake_driver::wrong("hipModuleLaunchKernel"))
        return status; // "wrong": claims that it ran, but did not
    const auto buffer = [&](int i) { return *static_cast<float**>(parameters[i]); };
    const int size = *static_cast<int*>(parameters[3]);
    for (int i = 0; i < size; ++i)
        buffer(2)[i] = buffer(0)[i] + buffer(1)[i];
    return 0;
}

FAKE_DRIVER int hipDeviceSynchronize() {
    return fake_driver::behave("hipDeviceSynchronize");
}
