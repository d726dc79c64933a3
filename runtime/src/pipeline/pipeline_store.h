#pragma once
/// The pipelines of one device: made at first use, kept as long as the device, with the driver's cache on
/// disk.

#include "device/vulkan_device.h"
#include "pipeline/cache_folder.h"
#include "pipeline/compile_progress.h"
#include "pipeline/compile_queue.h"
#include "pipeline/pipeline.h"
#include "pipeline/pipeline_identity.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
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

    /// The pipeline with that identity (pipeline_identity.h), compiled when this returns. Throws DeviceLost;
    /// Unsupported, naming the feature, when one is missing; Error when a constant is unknown or the driver
    /// refuses.
    const Pipeline& get(const kernels::Kernel& kernel, std::span<const kernels::ConstantValue> constants);
    /// Like get(), but does not wait: the first request has another thread compile the pipeline. If the
    /// driver refuses, complete() throws instead.
    const Pipeline& request(const kernels::Kernel& kernel, std::span<const kernels::ConstantValue> constants);
    /// Waits until the pipeline can be bound; compiles it on this thread if no other has started to. Throws
    /// Error if the driver refuses.
    void complete(const Pipeline& pipeline);
    /// Drops requests that no thread has started on and waits for the others, at most until `until`. Returns
    /// whether all have ended. Later requests are compiled by complete().
    bool stop_compiling(std::chrono::steady_clock::time_point until) noexcept;
    std::vector<PipelineStatistic> statistics(const Pipeline& pipeline) const;
    /// Writes the driver's cache to disk if it has grown since the last write. Never throws: failures are
    /// logged.
    void save() noexcept;

  private:
    using Pipelines = std::unordered_map<PipelineIdentity, Pipeline, PipelineIdentity::Hash>;

    /// The entry of the identity, and whether this call made it.
    std::pair<const Pipeline&, bool> find_or_add(const kernels::Kernel& kernel,
                                                 std::span<const kernels::ConstantValue> constants);
    void require_features(const kernels::Kernel& kernel) const;
    /// The kernel's shader module for one compilation.
    std::shared_ptr<VkShaderModule_T> module_of(const kernels::Kernel& kernel,
                                                std::span<const std::uint32_t> values);
    VkPipeline compile(const kernels::Kernel& kernel, std::span<const std::uint32_t> values);
    /// 0: the driver's choice.
    std::uint32_t required_subgroup(const kernels::Kernel& kernel,
                                    std::span<const std::uint32_t> values) const;
    std::vector<std::byte> load_cache();
    /// A driver's cache with these contents, to be destroyed by the caller.
    VkPipelineCache make_cache(std::span<const std::byte> data);
    /// The contents of the cache, merged with what other processes have written to the file since it was
    /// loaded.
    std::vector<std::byte> data_to_save();
    bool fits_device(std::span<const std::byte> data) const;

    VulkanDevice& device_;
    std::optional<CacheFile> file_;
    VkPipelineCache cache_ = VK_NULL_HANDLE;
    std::shared_mutex mutex_; ///< guards the table; not held while compiling
    Pipelines pipelines_;
    CompileProgress progress_;
    std::atomic<std::uint64_t> compiled_{0};
    std::mutex save_mutex_;
    std::uint64_t saved_ = 0;    ///< value of compiled_ when the file was last written
    std::size_t file_bytes_ = 0; ///< size of the driver's data in the file
    std::optional<std::filesystem::file_time_type>
        file_written_;                  ///< when the file that was loaded was written
    std::optional<CompileQueue> queue_; ///< empty: complete() compiles everything
};

} // namespace rekindle::runtime
