/// A fake NVML with GPUs at 0000:1a:00.0, 0000:1b:00.0, …. Each has 24 GiB, of which process 4711 holds 6
/// GiB.

#include "behavior.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace {

constexpr unsigned long long gibibyte = 1ULL << 30;

struct PciInfo {
    char legacy_address[16];
    unsigned domain, bus, device, pci_device, subsystem;
    char address[32];
};
struct MemoryInfo2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};
struct Process {
    unsigned pid;
    unsigned long long memory;
    unsigned gpu_instance, compute_instance;
};

int index_of(void* device) {
    return static_cast<int>(reinterpret_cast<std::intptr_t>(device)) - 1;
}

int give(const char* function, unsigned* result, unsigned value) {
    *result = value;
    return fake_driver::behave(function);
}

} // namespace

FAKE_DRIVER const char* nvmlErrorString(int status) {
    return status == 3 ? "Not Supported" : status == 15 ? "GPU is lost" : "Unknown Error";
}

FAKE_DRIVER int nvmlInit_v2() {
    return fake_driver::behave("nvmlInit_v2");
}

FAKE_DRIVER int nvmlDeviceGetCount_v2(unsigned* count) {
    return give("nvmlDeviceGetCount_v2", count, static_cast<unsigned>(fake_driver::device_count()));
}

FAKE_DRIVER int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
    *device = reinterpret_cast<void*>(static_cast<std::intptr_t>(index) + 1);
    return fake_driver::behave("nvmlDeviceGetHandleByIndex_v2");
}

FAKE_DRIVER int nvmlDeviceGetPciInfo_v3(void* device, PciInfo* pci) {
    *pci = {};
    pci->bus = 0x1a + static_cast<unsigned>(index_of(device));
    std::snprintf(pci->address, sizeof pci->address, "00000000:%02X:00.0", pci->bus);
    return fake_driver::behave("nvmlDeviceGetPciInfo_v3");
}

FAKE_DRIVER int nvmlDeviceGetName(void*, char* name, unsigned size) {
    std::snprintf(name, size, "A made-up GPU");
    return fake_driver::behave("nvmlDeviceGetName");
}

FAKE_DRIVER int nvmlDeviceGetUtilizationRates(void* device, unsigned* percent) {
    percent[0] = 90 + static_cast<unsigned>(index_of(device));
    percent[1] = 40;
    return fake_driver::behave("nvmlDeviceGetUtilizationRates");
}

FAKE_DRIVER int nvmlDeviceGetMemoryInfo(void*, unsigned long long* memory) {
    memory[0] = 24 * gibibyte;
    memory[1] = 17 * gibibyte;
    memory[2] = 7 * gibibyte;
    return fake_driver::behave("nvmlDeviceGetMemoryInfo");
}

FAKE_DRIVER int nvmlDeviceGetMemoryInfo_v2(void*, MemoryInfo2* memory) {
    if (memory->version != (sizeof *memory | 2U << 24U))
        return 25; // NVML_ERROR_ARGUMENT_VERSION_MISMATCH
    memory->total = 24 * gibibyte;
    memory->reserved = gibibyte;
    memory->free = 17 * gibibyte;
    memory->used = 6 * gibibyte;
    return fake_driver::behave("nvmlDeviceGetMemoryInfo_v2");
}

FAKE_DRIVER int nvmlDeviceGetTemperature(void*, int, unsigned* degrees) {
    return give("nvmlDeviceGetTemperature", degrees, 71);
}

FAKE_DRIVER int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
    return give("nvmlDeviceGetPowerUsage", milliwatts, 312500);
}

FAKE_DRIVER int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) {
    return give("nvmlDeviceGetEnforcedPowerLimit", milliwatts, 350000);
}

FAKE_DRIVER int nvmlDeviceGetClockInfo(void*, int domain, unsigned* megahertz) {
    return give("nvmlDeviceGetClockInfo", megahertz, domain == 0 ? 1755 : domain == 1 ? 1750 : 9501);
}

FAKE_DRIVER int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
    *reasons = 0x4 | 0x40 | 0x1; // power, hardware thermal slowdown, and idle, which is no limit
    return fake_driver::behave("nvmlDeviceGetCurrentClocksThrottleReasons");
}

FAKE_DRIVER int nvmlDeviceGetTotalEccErrors(void*, int, int, unsigned long long* errors) {
    *errors = 2;
    return fake_driver::behave("nvmlDeviceGetTotalEccErrors");
}

FAKE_DRIVER int nvmlDeviceGetPcieReplayCounter(void*, unsigned* replays) {
    return give("nvmlDeviceGetPcieReplayCounter", replays, 5);
}

FAKE_DRIVER int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, Process* processes) {
    *count = 1;
    processes[0] = {4711, 6 * gibibyte, 0, 0};
    return fake_driver::behave("nvmlDeviceGetComputeRunningProcesses_v3");
}

FAKE_DRIVER int nvmlDeviceGetGraphicsRunningProcesses_v3(void*, unsigned* count, Process*) {
    return give("nvmlDeviceGetGraphicsRunningProcesses_v3", count, 0);
}
