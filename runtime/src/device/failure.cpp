#include "device/hexadecimal.h"
#include "device/vulkan_device.h"
#include "device/vulkan_structure.h"

#include <cstdlib>
#include <utility>

namespace rekindle::runtime {

namespace {

constexpr std::size_t operations_kept = 16;
constexpr std::uint32_t amd = 0x1002;

std::string advice_for(const DeviceInfo& device) {
    std::string text =
        "Restart the program: nothing can be recovered in this process, and training resumes from its "
        "last checkpoint. `journalctl -k` and `rekindle doctor` show what the kernel driver reported. If "
        "it happens again, try another driver version or less work at a time: a smaller "
        "population";
    if (device.vendor_id == amd)
        text += ". amdgpu resets the GPU after the number of milliseconds in its parameter `lockup_timeout` "
                "(2,000 for compute on recent kernels)";
    return text;
}

std::string_view name_of_address(VkDeviceFaultAddressTypeEXT type) {
    switch (type) {
    case VK_DEVICE_FAULT_ADDRESS_TYPE_READ_INVALID_EXT:
        return "invalid read";
    case VK_DEVICE_FAULT_ADDRESS_TYPE_WRITE_INVALID_EXT:
        return "invalid write";
    case VK_DEVICE_FAULT_ADDRESS_TYPE_EXECUTE_INVALID_EXT:
        return "invalid execution";
    case VK_DEVICE_FAULT_ADDRESS_TYPE_INSTRUCTION_POINTER_UNKNOWN_EXT:
    case VK_DEVICE_FAULT_ADDRESS_TYPE_INSTRUCTION_POINTER_INVALID_EXT:
    case VK_DEVICE_FAULT_ADDRESS_TYPE_INSTRUCTION_POINTER_FAULT_EXT:
        return "instruction";
    default:
        return "address";
    }
}

/// Work that was given up while it was running.
struct LeftRunning {
    std::mutex mutex;
    std::vector<std::pair<std::shared_ptr<VulkanDevice>, std::shared_ptr<StreamTimeline>>> work;
};

} // namespace

VkResult VulkanDevice::check(VkResult result, std::string_view what) {
    if (result >= VK_SUCCESS)
        return result;
    const std::string text = std::string(what) + " on " + info_.name + " returned " + name_of(result);
    switch (result) {
    case VK_ERROR_DEVICE_LOST:
        lose_with(text, fault_text());
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
        throw OutOfMemory(text);
    default:
        throw Error(text);
    }
}

void VulkanDevice::lose(std::string_view why) {
    lose_with(why, {});
}

void VulkanDevice::lose_with(std::string_view why, const std::string& fault) {
    {
        const std::lock_guard lock(lost_mutex_);
        if (!lost_.load()) {
            lost_text_ = info_.address() + " (" + info_.name + ") is lost: " + std::string(why);
            std::string operations;
            for (const std::string& operation : operations_)
                operations += (operations.empty() ? "" : "; ") + operation;
            lost_text_ +=
                operations.empty() ? ". Nothing was submitted." : ". Last submitted: " + operations + ".";
            if (!fault.empty())
                lost_text_ += " The driver reports: " + fault + ".";
            lost_.store(true, std::memory_order_release);
        }
    }
    throw_if_lost();
    throw DeviceLost(std::string(why), advice_for(info_)); // not reached: lost_ is set
}

void VulkanDevice::throw_because_lost() const {
    throw_if_unusable();
    const std::lock_guard lock(lost_mutex_);
    throw DeviceLost(lost_text_, advice_for(info_));
}

void VulkanDevice::leave_running(std::shared_ptr<StreamTimeline> stream) noexcept {
    // Never destroyed: the driver still uses what it holds. Out of memory here ends the process.
    // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables,bugprone-unhandled-exception-at-new)
    static LeftRunning& left = *new LeftRunning;
    log(LogLevel::warning,
        info_.address() + " (" + info_.name +
            ") is still running work that was given up: its memory stays allocated until the process ends");
    {
        const std::lock_guard lock(left.mutex);
        // Handlers run in reverse order: this one runs before those of libraries that were loaded earlier.
        if (left.work.empty())
            ::on_exit(end_without_handlers, nullptr);
        left.work.emplace_back(shared(), std::move(stream));
    }
    const std::lock_guard lock(log_mutex_);
    options_.log = nullptr;
}

void VulkanDevice::note_operation(std::string what) {
    const std::lock_guard lock(lost_mutex_);
    operations_.push_back(std::move(what));
    if (operations_.size() > operations_kept)
        operations_.pop_front();
}

bool VulkanDevice::inject(TestMode::Fault fault) {
    if (fault == TestMode::Fault::none || fault != test_mode_.fault)
        return false;
    const std::uint64_t call = ++fault_calls_;
    return test_mode_.fault_repeats ? call >= test_mode_.fault_at : call == test_mode_.fault_at;
}

std::string VulkanDevice::fault_text() const {
    if (!enabled_.device_fault || vk_.vkGetDeviceFaultInfoEXT == nullptr)
        return {};
    auto counts = structure<VkDeviceFaultCountsEXT>(VK_STRUCTURE_TYPE_DEVICE_FAULT_COUNTS_EXT);
    if (vk_.vkGetDeviceFaultInfoEXT(device_, &counts, nullptr) < VK_SUCCESS)
        return {};
    counts.vendorBinarySize = 0;
    std::vector<VkDeviceFaultAddressInfoEXT> addresses(counts.addressInfoCount);
    std::vector<VkDeviceFaultVendorInfoEXT> vendor(counts.vendorInfoCount);
    auto info = structure<VkDeviceFaultInfoEXT>(VK_STRUCTURE_TYPE_DEVICE_FAULT_INFO_EXT);
    info.pAddressInfos = addresses.data();
    info.pVendorInfos = vendor.data();
    if (vk_.vkGetDeviceFaultInfoEXT(device_, &counts, &info) < VK_SUCCESS)
        return {};
    std::string text = info.description;
    for (std::uint32_t i = 0; i < counts.addressInfoCount && i < addresses.size(); ++i)
        text += "; " + std::string(name_of_address(addresses[i].addressType)) + " at " +
                hexadecimal(addresses[i].reportedAddress);
    for (std::uint32_t i = 0; i < counts.vendorInfoCount && i < vendor.size(); ++i)
        text += "; " + std::string(vendor[i].description) + " (code " +
                hexadecimal(vendor[i].vendorFaultCode) + ", data " + hexadecimal(vendor[i].vendorFaultData) +
                ")";
    return text;
}

} // namespace rekindle::runtime
