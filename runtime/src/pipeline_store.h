#pragma once
/// The pipelines of one device: made at first use, kept as long as the device, with the driver's cache on
/// disk.

#include "cache_folder.h"
#include "vulkan_device.h"

#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace rekindle::runtime {

/// The constant that requests a subgroup size: a kernel whose family declares it, with
/// Feature::subgroup_size_control and a value other than 0, runs in full subgroups of exactly that size.
constexpr std::string_view subgroup_size_constant = "subgroup_size";

/// Thread-safe. Different pipelines are compiled in parallel, the same one only once.
class PipelineStore {
  public:
    /// `device`: its VkDevice and layout must exist. `folder`: where the cache is kept; empty: nowhere.
    PipelineStore(VulkanDevice& device, const std::filesystem::path& folder);
    ~PipelineStore();
    PipelineStore(const PipelineStore&) = delete;
    PipelineStore& operator=(const PipelineStore&) = delete;

    /// Throws Unsupported, naming the feature, when one is missing, and Error when a constant is unknown or
    /// the driver refuses.
    const Pipeline& get(const kernels::Kernel& kernel, std::span<const kernels::ConstantValue> constants);
    std::vector<PipelineStatistic> statistics(const Pipeline& pipeline) const;
    /// Writes the driver's cache if it has grown since it was last written. Never throws: failures are
    /// logged.
    void save() noexcept;

  private:
    struct Key {
        const kernels::Kernel* kernel;
        std::vector<std::uint32_t> values; ///< in the order of kernel->constants
        auto operator<=>(const Key&) const = default;
    };
    template <class Made>
    struct Slot {
        std::mutex mutex; ///< held while it is compiled
        std::optional<Made> made;
    };

    Key key_of(const kernels::Kernel& kernel, std::span<const kernels::ConstantValue> constants) const;
    void require_features(const kernels::Kernel& kernel) const;
    std::shared_ptr<VkShaderModule_T> module_of(const Key& key); ///< for one compilation
    Pipeline compile(const Key& key);
    std::uint32_t required_subgroup(const Key& key) const; ///< 0: the driver's choice
    std::vector<std::byte> load_cache() const;
    bool fits_device(std::span<const std::byte> data) const;

    VulkanDevice& device_;
    std::optional<CacheFile> file_;
    VkPipelineCache cache_ = VK_NULL_HANDLE;
    std::mutex mutex_; ///< guards the map; not held while compiling
    std::map<Key, Slot<Pipeline>> pipelines_;
    std::atomic<std::uint64_t> compiled_{0};
    std::mutex save_mutex_;
    std::uint64_t saved_ = 0;    ///< value of compiled_ when the file was last written
    std::size_t file_bytes_ = 0; ///< size of the driver's data in the file
};

} // namespace rekindle::runtime
