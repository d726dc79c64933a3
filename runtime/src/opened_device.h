#pragma once
/// The device as callers of the runtime see it: it owns the parts and connects them. Nothing else in the
/// runtime includes this file.

#include "device/once.h"
#include "device/process_state.h"
#include "device/vulkan_device.h"
#include "memory/device_allocator.h"
#include "pipeline/pipeline_store.h"
#include "stream/profiler.h"
#include "stream/stream_core.h"

#include <rekindle/runtime/device.h>
#include <rekindle/runtime/self_test.h>
#include <rekindle/runtime/test_mode.h>

#include <chrono>
#include <memory>
#include <span>
#include <vector>

namespace rekindle::runtime {

class OpenedDevice final : public Device, private SettledAtExit {
  public:
    /// Device::open without the self-test.
    static std::shared_ptr<OpenedDevice> open_untested(const DeviceInfo& info, DeviceOptions options,
                                                       TestMode test_mode);
    ~OpenedDevice() override;
    OpenedDevice(const OpenedDevice&) = delete;
    OpenedDevice& operator=(const OpenedDevice&) = delete;

    VulkanDevice& vulkan() noexcept { return *vulkan_; }

    // Device
    const DeviceInfo& info() const noexcept override { return vulkan_->info(); }
    kernels::Features usable_features() const noexcept override { return vulkan_->usable_features(); }
    const Pipeline& prepare(const kernels::Kernel& kernel,
                            std::span<const kernels::ConstantValue> constants) override;
    const Pipeline& request(const kernels::Kernel& kernel,
                            std::span<const kernels::ConstantValue> constants) override;
    std::vector<PipelineStatistic>
    pipeline_statistics(const kernels::Kernel& kernel,
                        std::span<const kernels::ConstantValue> constants) override;
    void save_pipeline_cache() override;
    DeviceAllocator& allocator() override; ///< throws Unsupported on a compile-only device
    std::unique_ptr<Stream> make_stream(StreamQueue queue = StreamQueue::main) override;
    std::unique_ptr<Promise> make_promise() override;
    std::unique_ptr<PromiseSequence> make_promise_sequence() override;
    /// With options other than the defaults, for tests.
    std::unique_ptr<Stream> make_stream(const StreamOptions& options);
    KernelProfiler& profiler() override;
    const SelfTestResult& self_test() override; ///< run or read from the cache at the first call
    void synchronize() override;

  private:
    explicit OpenedDevice(std::unique_ptr<VulkanDevice> vulkan) : vulkan_(std::move(vulkan)) {}
    void create_pipelines();
    void require_running() const; ///< throws Unsupported on a compile-only device
    SelfTestResult known_self_test();
    bool settle(std::chrono::steady_clock::time_point until) noexcept override;

    const std::unique_ptr<VulkanDevice> vulkan_;
    std::unique_ptr<PipelineStore> pipelines_;
    std::unique_ptr<DeviceAllocator> allocator_;
    std::unique_ptr<KernelProfiler> profiler_;
    Once allocator_once_, profiler_once_, self_test_once_;
    std::unique_ptr<SelfTestResult> self_test_;
};

} // namespace rekindle::runtime
