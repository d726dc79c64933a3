#include "memory/source.h"

#include "device/hexadecimal.h"
#include "device/vulkan_structure.h"

#include <rekindle/foundation/text.h>
#include <rekindle/runtime/vulkan_result.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <tuple>
#include <unistd.h>
#include <utility>

namespace rekindle::runtime {

std::string readable_bytes(std::uint64_t bytes) {
    static constexpr std::array units{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024)
        return counted(bytes, "byte");
    double value = static_cast<double>(bytes) / 1024;
    std::size_t unit = 0;
    for (; value >= 1024 && unit + 1 < units.size(); ++unit)
        value /= 1024;
    char text[40];
    std::snprintf(text, sizeof text, "%.2f %s", value, units[unit]);
    return text;
}

std::vector<std::uint32_t> memory_types(const VkPhysicalDeviceMemoryProperties& properties, MemoryKind kind,
                                        bool prefer_mapped) {
    constexpr VkMemoryPropertyFlags unusable = VK_MEMORY_PROPERTY_PROTECTED_BIT |
                                               VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT |
                                               VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD;
    constexpr VkMemoryPropertyFlags mapped =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    const VkMemoryPropertyFlags needed =
        kind == MemoryKind::device ? VkMemoryPropertyFlags{VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT} : mapped;
    const auto flags = [&](std::uint32_t type) { return properties.memoryTypes[type].propertyFlags; };
    std::vector<std::uint32_t> types;
    for (std::uint32_t type = 0; type < properties.memoryTypeCount; ++type)
        if ((flags(type) & needed) == needed && (flags(type) & unusable) == 0)
            types.push_back(type);
    // Smaller is better.
    const auto rank = [&](std::uint32_t type) {
        const bool visible = (flags(type) & mapped) == mapped;
        const bool local = flags(type) & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
        const bool cached = flags(type) & VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
        const auto smaller_heap = ~properties.memoryHeaps[properties.memoryTypes[type].heapIndex].size;
        switch (kind) {
        case MemoryKind::device:
            return std::tuple(visible != prefer_mapped, false, smaller_heap);
        case MemoryKind::upload:
            return std::tuple(local, cached, smaller_heap);
        case MemoryKind::parameters:
            return std::tuple(!local, cached, smaller_heap);
        case MemoryKind::readback:
            break;
        }
        return std::tuple(!cached, local, smaller_heap);
    };
    std::ranges::stable_sort(types, {}, rank);
    return types;
}

namespace {

class VulkanMemory final : public DriverMemory {
  public:
    explicit VulkanMemory(VulkanDevice& device) : device_(device) {}
    ~VulkanMemory() override {
        device_.vk().vkDestroyBuffer(device_.handle(), buffer, nullptr);
        device_.vk().vkFreeMemory(device_.handle(), memory_, nullptr); // which also unmaps it
    }
    VulkanMemory(const VulkanMemory&) = delete;
    VulkanMemory& operator=(const VulkanMemory&) = delete;

    VkDeviceMemory& memory() { return memory_; }
    void keep(std::shared_ptr<const void> pages) { pages_ = std::move(pages); }

  private:
    VulkanDevice& device_;
    VkDeviceMemory memory_ = VK_NULL_HANDLE;
    std::shared_ptr<const void> pages_; ///< keeps imported pages mapped
};

} // namespace

BufferMaker::BufferMaker(VulkanDevice& device) : device_(device), families_{device.compute_queue().family} {
    if (const Queue* transfer = device.transfer_queue())
        families_.push_back(transfer->family);
}

VkResult BufferMaker::make(std::uint64_t bytes, const void* next, VkBuffer& buffer) const {
    auto info = structure<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
    info.pNext = next;
    info.size = bytes;
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                 VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    info.sharingMode = families_.size() > 1 ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE;
    info.queueFamilyIndexCount = static_cast<std::uint32_t>(families_.size());
    info.pQueueFamilyIndices = families_.data();
    return device_.vk().vkCreateBuffer(device_.handle(), &info, nullptr, &buffer);
}

VkResult BufferMaker::allocate(std::uint64_t bytes, std::uint32_t type, const void* next,
                               VkDeviceMemory& memory) const {
    if (device_.inject(TestMode::Fault::out_of_memory))
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    auto flags = structure<VkMemoryAllocateFlagsInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO);
    flags.pNext = next;
    flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
    auto info = structure<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
    info.pNext = &flags;
    info.allocationSize = bytes;
    info.memoryTypeIndex = type;
    return device_.vk().vkAllocateMemory(device_.handle(), &info, nullptr, &memory);
}

VkMemoryRequirements BufferMaker::requirements(VkBuffer buffer) const {
    VkMemoryRequirements result{};
    device_.vk().vkGetBufferMemoryRequirements(device_.handle(), buffer, &result);
    return result;
}

std::uint64_t BufferMaker::address(VkBuffer buffer) const {
    auto info = structure<VkBufferDeviceAddressInfo>(VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO);
    info.buffer = buffer;
    return device_.vk().vkGetBufferDeviceAddress(device_.handle(), &info);
}

bool BufferMaker::exhausted(VkResult result) {
    return result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY ||
           result == VK_ERROR_TOO_MANY_OBJECTS;
}

VulkanSource::VulkanSource(VulkanDevice& device) : device_(device), make_(device) {
    for (const MemoryKind kind : memory_kinds)
        types_[static_cast<std::size_t>(kind)] =
            memory_types(device.memory_properties(), kind, device.test_mode().poison);
}

std::uint64_t VulkanSource::largest(MemoryKind kind) const {
    const Capabilities& can = device_.info().can;
    std::uint64_t heap = 0;
    for (const std::uint32_t type : types(kind))
        heap = std::max(heap, heap_of(type).size);
    return std::min({can.maximum_allocation_bytes, can.maximum_buffer_bytes, heap});
}

std::string VulkanSource::describe_heaps(MemoryKind kind) const {
    const std::vector<Heap> heaps = device_.heaps();
    std::vector<std::uint32_t> seen;
    std::string text;
    for (const std::uint32_t type : types(kind)) {
        const std::uint32_t index = device_.memory_properties().memoryTypes[type].heapIndex;
        if (std::ranges::find(seen, index) != seen.end() || index >= heaps.size())
            continue;
        seen.push_back(index);
        const Heap& heap = heaps[index];
        text += (text.empty() ? "heap " : ", heap ") + std::to_string(index) + " holds " +
                readable_bytes(heap.bytes);
        if (heap.budget_bytes)
            text += " (" + readable_bytes(*heap.budget_bytes) + " for this process now" +
                    (heap.used_bytes ? ", " + readable_bytes(*heap.used_bytes) + " of it used" : "") + ")";
    }
    return text;
}

MemoryInfo VulkanSource::memory_info(std::uint64_t reserved) const {
    const std::vector<std::uint32_t>& types = this->types(MemoryKind::device);
    if (types.empty())
        return {};
    const Heap heap = device_.heaps().at(device_.memory_properties().memoryTypes[types.front()].heapIndex);
    const auto left = [](std::uint64_t all, std::uint64_t used) { return all - std::min(all, used); };
    if (heap.budget_bytes && heap.used_bytes)
        return {std::min(left(*heap.budget_bytes, *heap.used_bytes), heap.bytes), heap.bytes, true};
    return {left(heap.bytes, reserved), heap.bytes, false};
}

std::uint64_t VulkanSource::import_alignment() const {
    return std::max(static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)),
                    device_.enabled().external_host_alignment);
}

std::unique_ptr<DriverMemory> VulkanSource::import(std::span<std::byte> pages,
                                                   std::shared_ptr<const void> keep) {
    device_.throw_if_lost();
    const auto misaligned = [&](std::uint64_t value) { return value % import_alignment() != 0; };
    if (pages.empty() || misaligned(reinterpret_cast<std::uintptr_t>(pages.data())) ||
        misaligned(pages.size()))
        throw Error(device_name() + ": imported memory must begin and end at multiples of " +
                    counted(import_alignment(), "byte"));
    if (!device_.enabled().external_host_memory)
        throw Unsupported(device_name() + ": importing host memory needs VK_EXT_external_memory_host");
    auto memory = std::make_unique<VulkanMemory>(device_);
    memory->keep(std::move(keep));
    const VkResult imported = import_into(MemoryKind::readback, pages, memory->buffer, memory->memory());
    if (imported != VK_SUCCESS)
        throw Unsupported(device_name() + ": the driver does not import this host memory (" +
                          name_of(imported) + ")");
    device_.check(device_.vk().vkBindBufferMemory(device_.handle(), memory->buffer, memory->memory(), 0),
                  "vkBindBufferMemory");
    memory->address = make_.address(memory->buffer);
    memory->host = pages.data();
    memory->imported = true;
    if (memory->address % BlockRules::alignment != 0)
        throw Unsupported(device_name() + ": imported memory has the address " +
                          hexadecimal(memory->address) + ", which is not a multiple of " +
                          counted(BlockRules::alignment, "byte"));
    return memory;
}

VkResult VulkanSource::import_into(MemoryKind kind, std::span<std::byte> pages, VkBuffer& buffer,
                                   VkDeviceMemory& memory) const {
    constexpr auto handle = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
    auto external =
        structure<VkExternalMemoryBufferCreateInfo>(VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO);
    external.handleTypes = handle;
    device_.check(make_.make(pages.size(), &external, buffer), "vkCreateBuffer");
    auto can =
        structure<VkMemoryHostPointerPropertiesEXT>(VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT);
    const VkResult known =
        device_.vk().vkGetMemoryHostPointerPropertiesEXT(device_.handle(), handle, pages.data(), &can);
    if (known != VK_SUCCESS)
        return known;
    auto info =
        structure<VkImportMemoryHostPointerInfoEXT>(VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT);
    info.handleType = handle;
    info.pHostPointer = pages.data();
    const VkMemoryRequirements needs = make_.requirements(buffer);
    for (const std::uint32_t type : types(kind))
        if ((needs.memoryTypeBits & can.memoryTypeBits) >> type & 1)
            return make_.allocate(pages.size(), type, &info, memory);
    throw Unsupported(device_name() + ": no memory type accepts imported pages");
}

std::string VulkanSource::device_name() const {
    return device_.info().address() + " (" + device_.info().name + ")";
}

const VkMemoryHeap& VulkanSource::heap_of(std::uint32_t type) const {
    const VkPhysicalDeviceMemoryProperties& properties = device_.memory_properties();
    return properties.memoryHeaps[properties.memoryTypes[type].heapIndex];
}

namespace {

/// Segments from vkAllocateMemory.
class DriverSource final : public VulkanSource {
  public:
    explicit DriverSource(VulkanDevice& device) : VulkanSource(device), slack_(needed_slack()) {}

    std::uint64_t largest(MemoryKind kind) const override {
        return (VulkanSource::largest(kind) - slack_) / BlockRules::alignment * BlockRules::alignment;
    }

    std::unique_ptr<DriverMemory> take(MemoryKind kind, std::uint64_t bytes) override {
        device_.throw_if_lost();
        auto memory = std::make_unique<VulkanMemory>(device_);
        const VkResult made = make_.make(bytes + slack_, nullptr, memory->buffer);
        if (BufferMaker::exhausted(made))
            return nullptr;
        device_.check(made, "vkCreateBuffer");
        const std::optional<std::uint32_t> type = allocate(kind, *memory);
        if (!type)
            return nullptr;
        const VkResult bound =
            device_.vk().vkBindBufferMemory(device_.handle(), memory->buffer, memory->memory(), 0);
        device_.check(bound, "vkBindBufferMemory");
        const std::uint64_t address = make_.address(memory->buffer);
        memory->address = round_up(address, BlockRules::alignment);
        memory->buffer_offset = memory->address - address;
        if (kind != MemoryKind::device || device_.test_mode().poison)
            map(*type, *memory);
        return memory;
    }

  private:
    /// How many extra bytes a buffer needs so that its address can be aligned to 256 bytes where the driver
    /// aligns less.
    std::uint64_t needed_slack() {
        VulkanMemory probe(device_);
        device_.check(make_.make(BlockRules::alignment, nullptr, probe.buffer), "vkCreateBuffer");
        return make_.requirements(probe.buffer).alignment % BlockRules::alignment == 0
                   ? 0
                   : BlockRules::alignment;
    }

    /// Allocates from the first memory type that has room and returns the type.
    std::optional<std::uint32_t> allocate(MemoryKind kind, VulkanMemory& memory) {
        const VkMemoryRequirements needs = make_.requirements(memory.buffer);
        for (const std::uint32_t type : types(kind)) {
            if ((needs.memoryTypeBits >> type & 1) == 0 || needs.size > heap_of(type).size)
                continue;
            const VkResult result = make_.allocate(needs.size, type, nullptr, memory.memory());
            if (result == VK_SUCCESS)
                return type;
            if (!BufferMaker::exhausted(result))
                device_.check(result, "vkAllocateMemory");
        }
        return std::nullopt;
    }

    void map(std::uint32_t type, VulkanMemory& memory) {
        constexpr VkMemoryPropertyFlags mapped =
            VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
        const VkMemoryPropertyFlags flags = device_.memory_properties().memoryTypes[type].propertyFlags;
        if ((flags & mapped) != mapped)
            return;
        void* host = nullptr;
        device_.check(device_.vk().vkMapMemory(device_.handle(), memory.memory(), 0, VK_WHOLE_SIZE, 0, &host),
                      "vkMapMemory");
        memory.host = static_cast<std::byte*>(host) + memory.buffer_offset;
    }

    std::uint64_t slack_;
};

} // namespace

std::unique_ptr<MemorySource> make_driver_memory(VulkanDevice& device) {
    return std::make_unique<DriverSource>(device);
}

} // namespace rekindle::runtime
