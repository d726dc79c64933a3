#include "device/physical_device.h"

#include "device/instance.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

namespace rekindle::runtime {

namespace {

constexpr std::uint32_t nvidia = 0x10de;

/// Appends structures to a chain of Vulkan structures.
class Chain {
  public:
    explicit Chain(void** first) : end_(first) { *end_ = nullptr; }
    template <class Structure>
    void add(Structure& structure) {
        structure.pNext = nullptr;
        *end_ = &structure;
        // Some structures declare pNext as a pointer to const, others do not.
        // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
        end_ = const_cast<void**>(reinterpret_cast<const void* const*>(&structure.pNext));
    }

  private:
    void** end_;
};

std::vector<std::string> extensions_of(VkPhysicalDevice device) {
    std::uint32_t count = 0;
    if (vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr) != VK_SUCCESS)
        return {};
    std::vector<VkExtensionProperties> list(count);
    if (vkEnumerateDeviceExtensionProperties(device, nullptr, &count, list.data()) < VK_SUCCESS)
        return {};
    list.resize(count);
    std::vector<std::string> names;
    names.reserve(count);
    for (const VkExtensionProperties& extension : list)
        names.emplace_back(extension.extensionName);
    return names;
}

DeviceType type_of(VkPhysicalDeviceType type) {
    switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
        return DeviceType::discrete;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
        return DeviceType::integrated;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
        return DeviceType::virtual_gpu;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
        return DeviceType::cpu;
    default:
        return DeviceType::other;
    }
}

ComponentType component_of(int type) {
    switch (type) {
    case VK_COMPONENT_TYPE_FLOAT16_KHR:
        return ComponentType::float16;
    case VK_COMPONENT_TYPE_FLOAT32_KHR:
        return ComponentType::float32;
    case VK_COMPONENT_TYPE_FLOAT64_KHR:
        return ComponentType::float64;
    case VK_COMPONENT_TYPE_SINT8_KHR:
        return ComponentType::sint8;
    case VK_COMPONENT_TYPE_UINT8_KHR:
        return ComponentType::uint8;
    case VK_COMPONENT_TYPE_SINT32_KHR:
        return ComponentType::sint32;
    case VK_COMPONENT_TYPE_UINT32_KHR:
        return ComponentType::uint32;
    case component_type_bfloat16:
        return ComponentType::bfloat16;
    default:
        return ComponentType::other;
    }
}

std::vector<CooperativeMatrixShape> shapes_of(VkPhysicalDevice device, const Instance& instance) {
    const auto list = reinterpret_cast<PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR>(
        vkGetInstanceProcAddr(instance.handle(), "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
    std::uint32_t count = 0;
    if (list == nullptr || list(device, &count, nullptr) != VK_SUCCESS)
        return {};
    VkCooperativeMatrixPropertiesKHR empty{};
    empty.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR;
    std::vector<VkCooperativeMatrixPropertiesKHR> properties(count, empty);
    if (list(device, &count, properties.data()) < VK_SUCCESS)
        return {};
    properties.resize(count);
    std::vector<CooperativeMatrixShape> shapes;
    shapes.reserve(count);
    for (const VkCooperativeMatrixPropertiesKHR& p : properties)
        shapes.push_back({.m = p.MSize,
                          .n = p.NSize,
                          .k = p.KSize,
                          .a = component_of(p.AType),
                          .b = component_of(p.BType),
                          .c = component_of(p.CType),
                          .result = component_of(p.ResultType),
                          .subgroup_scope = p.scope == VK_SCOPE_SUBGROUP_KHR});
    return shapes;
}

/// Whether the device multiplies factors of this type in this shape with float32 sums.
bool has_shape(std::span<const CooperativeMatrixShape> shapes, const MatrixShape& known,
               ComponentType factor) {
    return std::ranges::any_of(shapes, [&](const CooperativeMatrixShape& s) {
        return s.a == factor && s.b == factor && s.c == ComponentType::float32 &&
               s.result == ComponentType::float32 && s.subgroup_scope && known.m == s.m && known.n == s.n &&
               known.k == s.k;
    });
}

/// Feature::cooperative_matrix and the features of the shapes, for 16-bit factors and float32 sums. No driver
/// reports the layout of a matrix; the self-test checks for the usual ones.
kernels::Features matrix_features(const PhysicalDevice& device) {
    using kernels::Feature;
    kernels::Features features;
    const std::span<const CooperativeMatrixShape> shapes = device.info.can.cooperative_matrices;
    for (const MatrixShape& known : matrix_shapes) {
        if (!has_shape(shapes, known, ComponentType::float16))
            continue;
        if (features.empty() && device.available.bfloat16_matrix &&
            has_shape(shapes, known, ComponentType::bfloat16))
            features = features | Feature::bfloat16_units;
        features = features | Feature::cooperative_matrix | known.feature;
    }
    const bool is_nvidia = device.info.vendor_id == nvidia;
    if (is_nvidia && features.contains(Feature::matrix_16x16x16))
        features = features | Feature::matrix_quads;
    if (!is_nvidia && device.info.can.features.contains(Feature::subgroup_size_control) &&
        (features.contains(Feature::matrix_16x16x16) || features.contains(Feature::matrix_8x8x8)))
        features = features | Feature::matrix_columns;
    return features;
}

/// Prefers a compute family without graphics, which is not shared with the desktop, and a copy-only family,
/// which has its own engines.
void choose_queues(PhysicalDevice& device) {
    std::uint32_t count = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(device.handle, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    vkGetPhysicalDeviceQueueFamilyProperties(device.handle, &count, families.data());
    bool compute_alone = false;
    for (std::uint32_t i = 0; i < count; ++i) {
        const VkQueueFamilyProperties& family = families[i];
        if (family.queueCount == 0)
            continue;
        const bool compute = (family.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0;
        const bool graphics = (family.queueFlags & VK_QUEUE_GRAPHICS_BIT) != 0;
        if (compute && (!device.compute || (!graphics && !compute_alone))) {
            device.compute = QueueFamily{i, family.timestampValidBits, family.queueCount};
            compute_alone = !graphics;
        }
        if (!compute && !graphics && (family.queueFlags & VK_QUEUE_TRANSFER_BIT) != 0 && !device.transfer)
            device.transfer = QueueFamily{i, family.timestampValidBits, family.queueCount};
    }
}

struct PropertyChain {
    VkPhysicalDeviceProperties2 core =
        structure<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
    VkPhysicalDeviceVulkan11Properties vulkan11 = structure<VkPhysicalDeviceVulkan11Properties>(
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES);
    VkPhysicalDeviceVulkan12Properties vulkan12 = structure<VkPhysicalDeviceVulkan12Properties>(
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES);
    VkPhysicalDeviceVulkan13Properties vulkan13 = structure<VkPhysicalDeviceVulkan13Properties>(
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES);
    VkPhysicalDeviceSubgroupSizeControlProperties subgroup_size =
        structure<VkPhysicalDeviceSubgroupSizeControlProperties>(
            VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES);
    VkPhysicalDeviceExternalMemoryHostPropertiesEXT host_memory =
        structure<VkPhysicalDeviceExternalMemoryHostPropertiesEXT>(
            VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT);
    VkPhysicalDevicePCIBusInfoPropertiesEXT pci = structure<VkPhysicalDevicePCIBusInfoPropertiesEXT>(
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT);
    VkPhysicalDeviceShaderCorePropertiesAMD amd_cores = structure<VkPhysicalDeviceShaderCorePropertiesAMD>(
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD);
    VkPhysicalDeviceShaderSMBuiltinsPropertiesNV nvidia_cores =
        structure<VkPhysicalDeviceShaderSMBuiltinsPropertiesNV>(
            VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV);

    bool has_pci;

    explicit PropertyChain(const PhysicalDevice& device)
        : has_pci(device.has(VK_EXT_PCI_BUS_INFO_EXTENSION_NAME)) {
        Chain chain(&core.pNext);
        chain.add(vulkan11);
        chain.add(vulkan12);
        if (device.available.vulkan_1_3)
            chain.add(vulkan13);
        else if (device.has(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME))
            chain.add(subgroup_size);
        if (device.has(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME))
            chain.add(host_memory);
        if (has_pci)
            chain.add(pci);
        if (device.has(VK_AMD_SHADER_CORE_PROPERTIES_EXTENSION_NAME))
            chain.add(amd_cores);
        if (device.has(VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME))
            chain.add(nvidia_cores);
        vkGetPhysicalDeviceProperties2(device.handle, &core);
    }
    PropertyChain(const PropertyChain&) = delete;
    PropertyChain& operator=(const PropertyChain&) = delete;
};

std::string address_text(const VkPhysicalDevicePCIBusInfoPropertiesEXT& pci) {
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.%x", pci.pciDomain, pci.pciBus, pci.pciDevice,
                  pci.pciFunction);
    return text.data();
}

void read_identity(const PropertyChain& properties, DeviceInfo& info) {
    std::ranges::copy(properties.vulkan11.deviceUUID, info.uuid.begin());
    info.driver_id = static_cast<std::uint32_t>(properties.vulkan12.driverID);
    info.driver_name = properties.vulkan12.driverName;
    info.driver_info = properties.vulkan12.driverInfo;
    const VkConformanceVersion& version = properties.vulkan12.conformanceVersion;
    info.conformance = {version.major, version.minor, version.subminor, version.patch};
    if (properties.has_pci)
        info.pci_address = address_text(properties.pci);
}

void read_limits(const PhysicalDevice& device, const PropertyChain& properties, Capabilities& can) {
    const VkPhysicalDeviceLimits& limits = properties.core.properties.limits;
    can.shared_bytes = limits.maxComputeSharedMemorySize;
    can.maximum_threads = std::min(limits.maxComputeWorkGroupInvocations, limits.maxComputeWorkGroupSize[0]);
    can.push_constant_bytes = limits.maxPushConstantsSize;
    const VkPhysicalDeviceShaderCorePropertiesAMD& amd = properties.amd_cores;
    can.compute_units =
        amd.shaderEngineCount * amd.shaderArraysPerEngineCount * amd.computeUnitsPerShaderArray +
        properties.nvidia_cores.shaderSMCount;
    can.maximum_allocation_bytes = properties.vulkan11.maxMemoryAllocationSize;
    can.maximum_buffer_bytes =
        device.available.maintenance4 ? properties.vulkan13.maxBufferSize : can.maximum_allocation_bytes;
    if (device.compute && device.compute->timestamp_bits > 0)
        can.timestamp_period_ns = static_cast<double>(limits.timestampPeriod);
    can.default_subgroup = properties.vulkan11.subgroupSize;
    can.minimum_subgroup = can.maximum_subgroup = can.default_subgroup;
    if (device.available.subgroup_size_control) {
        can.minimum_subgroup = device.available.vulkan_1_3 ? properties.vulkan13.minSubgroupSize
                                                           : properties.subgroup_size.minSubgroupSize;
        can.maximum_subgroup = device.available.vulkan_1_3 ? properties.vulkan13.maxSubgroupSize
                                                           : properties.subgroup_size.maxSubgroupSize;
    }
}

kernels::Features subgroup_features(const PhysicalDevice& device, const PropertyChain& properties) {
    using kernels::Feature;
    kernels::Features features;
    if ((properties.vulkan11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) == 0)
        return features;
    const VkSubgroupFeatureFlags operations = properties.vulkan11.subgroupSupportedOperations;
    if ((operations & VK_SUBGROUP_FEATURE_BASIC_BIT) != 0)
        features = features | Feature::subgroup_basic;
    if ((operations & VK_SUBGROUP_FEATURE_ARITHMETIC_BIT) != 0)
        features = features | Feature::subgroup_arithmetic;
    if ((operations & VK_SUBGROUP_FEATURE_SHUFFLE_BIT) != 0)
        features = features | Feature::subgroup_shuffle;
    const VkShaderStageFlags stages = device.available.vulkan_1_3
                                          ? properties.vulkan13.requiredSubgroupSizeStages
                                          : properties.subgroup_size.requiredSubgroupSizeStages;
    if (device.available.subgroup_size_control && device.available.compute_full_subgroups &&
        (stages & VK_SHADER_STAGE_COMPUTE_BIT) != 0)
        features = features | Feature::subgroup_size_control;
    return features;
}

kernels::Features arithmetic_features(const FeatureChain& f, const Capabilities& can) {
    using kernels::Feature;
    kernels::Features features;
    const auto add = [&features](bool present, Feature feature) {
        if (present)
            features = features | feature;
    };
    add(f.vulkan12.shaderFloat16, Feature::float16_arithmetic);
    add(f.core.features.shaderFloat64, Feature::float64);
    add(f.vulkan11.storageBuffer16BitAccess && f.core.features.shaderInt16, Feature::storage_16bit);
    add(f.vulkan12.storageBuffer8BitAccess && f.vulkan12.shaderInt8, Feature::storage_8bit);
    add(f.vulkan12.shaderInt8, Feature::int8_arithmetic);
    add(f.vulkan12.shaderBufferInt64Atomics, Feature::int64_atomics);
    add(can.shared_bytes >= 49'152, Feature::shared_48k);
    add(can.shared_bytes >= 65'536, Feature::shared_64k);
    return features;
}

void read_capabilities(PhysicalDevice& device, const FeatureChain& f, const PropertyChain& properties,
                       const Instance& instance) {
    Capabilities& can = device.info.can;
    read_limits(device, properties, can);
    can.features = arithmetic_features(f, can) | subgroup_features(device, properties);
    can.float32_atomic_add = device.available.float32_atomic_add;
    can.int64_atomics = f.vulkan12.shaderBufferInt64Atomics;
    can.bfloat16 = device.has(VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME);
    if (device.available.cooperative_matrix)
        can.cooperative_matrices = shapes_of(device.handle, instance);
    const kernels::Features factors{kernels::Feature::float16_arithmetic, kernels::Feature::storage_16bit};
    if (can.features.contains(factors))
        can.features = can.features | matrix_features(device);
    can.heaps = heaps_of(device.handle, device.available.memory_budget);
    can.transfer_queue = device.transfer.has_value();
    can.resizable_bar = std::ranges::any_of(can.heaps, [](const Heap& heap) {
        return heap.device_local && heap.host_visible && heap.bytes > (256ull << 20);
    });
    can.memory_budget = device.available.memory_budget;
    can.device_fault = device.available.device_fault;
    can.external_host_memory = device.available.external_host_memory;
}

/// The first missing minimum requirement, "" if all are met.
std::string missing(const PhysicalDevice& device, const FeatureChain& f) {
    const Capabilities& can = device.info.can;
    const struct {
        bool there;
        const char* what;
    } floor[] = {
        {f.vulkan12.bufferDeviceAddress != 0, "bufferDeviceAddress"},
        {f.vulkan12.timelineSemaphore != 0, "timelineSemaphore"},
        {f.vulkan12.scalarBlockLayout != 0, "scalarBlockLayout"},
        {f.core.features.shaderInt64 != 0, "shaderInt64"},
        {f.vulkan12.vulkanMemoryModel && f.vulkan12.vulkanMemoryModelDeviceScope, "vulkanMemoryModel"},
        {can.shared_bytes >= 32'768, "32 KiB of shared memory"},
        {can.push_constant_bytes >= 128, "128 bytes of push constants"},
        {device.compute.has_value(), "a compute queue"},
    };
    for (const auto& [there, what] : floor)
        if (!there)
            return std::string("lacks ") + what;
    return {};
}

/// Whether the device's clock can be compared with std::chrono::steady_clock.
bool calibrates_with_host(const PhysicalDevice& device) {
    if (!device.has(VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME))
        return false;
    std::uint32_t count = 0;
    if (vkGetPhysicalDeviceCalibrateableTimeDomainsEXT(device.handle, &count, nullptr) != VK_SUCCESS)
        return false;
    std::vector<VkTimeDomainEXT> domains(count);
    if (vkGetPhysicalDeviceCalibrateableTimeDomainsEXT(device.handle, &count, domains.data()) != VK_SUCCESS)
        return false;
    const auto has = [&](VkTimeDomainEXT domain) {
        return std::ranges::find(domains, domain) != domains.end();
    };
    return has(VK_TIME_DOMAIN_DEVICE_EXT) && has(VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT);
}

void read_available(PhysicalDevice& device, const FeatureChain& f) {
    EnabledFeatures& available = device.available;
    available.synchronization2 = f.vulkan13.synchronization2;
    available.maintenance4 = f.vulkan13.maintenance4;
    available.host_query_reset = f.vulkan12.hostQueryReset;
    available.subgroup_size_control =
        available.vulkan_1_3 ? f.vulkan13.subgroupSizeControl : f.subgroup_size.subgroupSizeControl;
    available.compute_full_subgroups =
        available.vulkan_1_3 ? f.vulkan13.computeFullSubgroups : f.subgroup_size.computeFullSubgroups;
    // RADV without hardware must not be asked for its memory budget: Mesa 25.0 crashes for gfx1150 and
    // gfx1201.
    const bool null_hardware = device.info.name.starts_with("Null hardware");
    available.memory_budget = device.has(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME) && !null_hardware;
    available.external_host_memory = device.has(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
    available.device_fault = f.fault.deviceFault;
    available.calibrated_timestamps = calibrates_with_host(device);
    available.executable_properties = f.executable.pipelineExecutableInfo;
    available.cooperative_matrix = f.cooperative_matrix.cooperativeMatrix;
    available.bfloat16_matrix = available.cooperative_matrix && f.bfloat16.shaderBFloat16Type &&
                                f.bfloat16.shaderBFloat16CooperativeMatrix;
    available.float32_atomic_add = f.atomic_float.shaderBufferFloat32AtomicAdd;
}

void link(const PhysicalDevice& device, FeatureChain& f) {
    Chain chain(&f.core.pNext);
    chain.add(f.vulkan11);
    chain.add(f.vulkan12);
    if (device.available.vulkan_1_3)
        chain.add(f.vulkan13);
    else if (device.has(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME))
        chain.add(f.subgroup_size);
    if (device.has(VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME))
        chain.add(f.atomic_float);
    if (device.has(VK_EXT_DEVICE_FAULT_EXTENSION_NAME))
        chain.add(f.fault);
    if (device.has(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME))
        chain.add(f.executable);
    if (device.has(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME))
        chain.add(f.cooperative_matrix);
    if (device.has(VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME))
        chain.add(f.bfloat16);
}

} // namespace

bool PhysicalDevice::has(std::string_view extension) const {
    return std::ranges::find(extensions, extension) != extensions.end();
}

void query_features(const PhysicalDevice& device, FeatureChain& chain) {
    link(device, chain);
    vkGetPhysicalDeviceFeatures2(device.handle, &chain.core);
}

void enable_used_features(const PhysicalDevice& device, const EnabledFeatures& enabled, FeatureChain& chain) {
    FeatureChain there;
    query_features(device, there);
    link(device, chain);
    chain.core.features.shaderInt64 = VK_TRUE;
    chain.core.features.shaderFloat64 = there.core.features.shaderFloat64;
    chain.core.features.shaderInt16 = there.core.features.shaderInt16;
    chain.vulkan11.storageBuffer16BitAccess = there.vulkan11.storageBuffer16BitAccess;
    chain.vulkan11.variablePointersStorageBuffer = there.vulkan11.variablePointersStorageBuffer;
    chain.vulkan11.variablePointers = there.vulkan11.variablePointers;
    VkPhysicalDeviceVulkan12Features& f = chain.vulkan12;
    f.bufferDeviceAddress = f.timelineSemaphore = f.scalarBlockLayout = VK_TRUE;
    f.vulkanMemoryModel = f.vulkanMemoryModelDeviceScope = VK_TRUE;
    f.shaderFloat16 = there.vulkan12.shaderFloat16;
    f.shaderInt8 = there.vulkan12.shaderInt8;
    f.storageBuffer8BitAccess = there.vulkan12.storageBuffer8BitAccess;
    f.shaderBufferInt64Atomics = there.vulkan12.shaderBufferInt64Atomics;
    f.shaderSharedInt64Atomics = there.vulkan12.shaderSharedInt64Atomics;
    f.shaderSubgroupExtendedTypes = there.vulkan12.shaderSubgroupExtendedTypes;
    f.hostQueryReset = there.vulkan12.hostQueryReset;
    chain.vulkan13.synchronization2 = enabled.synchronization2;
    chain.vulkan13.maintenance4 = enabled.maintenance4;
    chain.vulkan13.subgroupSizeControl = enabled.subgroup_size_control;
    chain.vulkan13.computeFullSubgroups = enabled.compute_full_subgroups;
    chain.subgroup_size.subgroupSizeControl = enabled.subgroup_size_control;
    chain.subgroup_size.computeFullSubgroups = enabled.compute_full_subgroups;
    chain.atomic_float.shaderBufferFloat32Atomics = there.atomic_float.shaderBufferFloat32Atomics;
    chain.atomic_float.shaderBufferFloat32AtomicAdd = enabled.float32_atomic_add;
    chain.fault.deviceFault = enabled.device_fault;
    chain.executable.pipelineExecutableInfo = enabled.executable_properties;
    chain.cooperative_matrix.cooperativeMatrix = enabled.cooperative_matrix;
    chain.bfloat16.shaderBFloat16Type = chain.bfloat16.shaderBFloat16CooperativeMatrix =
        enabled.bfloat16_matrix;
}

std::vector<const char*> extensions_to_enable(const PhysicalDevice& device) {
    // Extensions whose structures link() chains must be enabled as well.
    std::vector<const char*> names;
    for (const char* name :
         {VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME, VK_EXT_DEVICE_FAULT_EXTENSION_NAME,
          VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME,
          VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME,
          VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME, VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME})
        if (device.has(name))
            names.push_back(name);
    if (!device.available.vulkan_1_3 && device.has(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME))
        names.push_back(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
    return names;
}

std::vector<Heap> heaps_of(VkPhysicalDevice device, bool budget) {
    auto budgets = structure<VkPhysicalDeviceMemoryBudgetPropertiesEXT>(
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT);
    auto properties =
        structure<VkPhysicalDeviceMemoryProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2);
    properties.pNext = budget ? &budgets : nullptr;
    vkGetPhysicalDeviceMemoryProperties2(device, &properties);
    const VkPhysicalDeviceMemoryProperties& memory = properties.memoryProperties;
    std::vector<Heap> heaps(memory.memoryHeapCount);
    for (std::uint32_t i = 0; i < memory.memoryHeapCount; ++i) {
        heaps[i].bytes = memory.memoryHeaps[i].size;
        heaps[i].device_local = (memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0;
        if (budget) {
            heaps[i].budget_bytes = budgets.heapBudget[i];
            heaps[i].used_bytes = budgets.heapUsage[i];
        }
    }
    for (std::uint32_t i = 0; i < memory.memoryTypeCount; ++i)
        if ((memory.memoryTypes[i].propertyFlags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) != 0)
            heaps[memory.memoryTypes[i].heapIndex].host_visible = true;
    return heaps;
}

PhysicalDevice describe(VkPhysicalDevice handle, const Instance& instance) {
    PhysicalDevice device;
    device.handle = handle;
    VkPhysicalDeviceProperties properties{};
    vkGetPhysicalDeviceProperties(handle, &properties);
    DeviceInfo& info = device.info;
    info.name = properties.deviceName;
    info.type = type_of(properties.deviceType);
    info.vendor_id = properties.vendorID;
    info.device_id = properties.deviceID;
    info.driver_version = properties.driverVersion;
    info.api_version = properties.apiVersion;
    std::ranges::copy(properties.pipelineCacheUUID, info.pipeline_cache_uuid.begin());
    if (properties.apiVersion < VK_API_VERSION_1_2) {
        info.unusable = "offers Vulkan " + std::to_string(VK_API_VERSION_MAJOR(properties.apiVersion)) + "." +
                        std::to_string(VK_API_VERSION_MINOR(properties.apiVersion)) + "; 1.2 is required";
        return device;
    }
    device.available.vulkan_1_3 =
        properties.apiVersion >= VK_API_VERSION_1_3 && instance.version() >= VK_API_VERSION_1_3;
    device.extensions = extensions_of(handle);
    choose_queues(device);
    FeatureChain features;
    query_features(device, features);
    read_available(device, features);
    const PropertyChain chain(device);
    device.available.external_host_alignment = chain.host_memory.minImportedHostPointerAlignment;
    read_identity(chain, info);
    read_capabilities(device, features, chain, instance);
    info.unusable = missing(device, features);
    return device;
}

std::vector<PhysicalDevice> describe_all(const Instance& instance) {
    std::vector<PhysicalDevice> devices;
    for (const VkPhysicalDevice handle : instance.physical_devices())
        devices.push_back(describe(handle, instance));
    const auto rank = [](const PhysicalDevice& device) {
        switch (device.info.type) {
        case DeviceType::discrete:
            return 0;
        case DeviceType::integrated:
            return 1;
        case DeviceType::virtual_gpu:
            return 2;
        case DeviceType::other:
            return 3;
        case DeviceType::cpu:
            break;
        }
        return 4;
    };
    std::ranges::stable_sort(devices, {}, rank);
    for (std::uint32_t i = 0; i < devices.size(); ++i)
        devices[i].info.number = i;
    return devices;
}

} // namespace rekindle::runtime
