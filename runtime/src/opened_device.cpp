#include "opened_device.h"

#include "memory/allocator.h"
#include "pipeline/cache_folder.h"
#include "self_test/self_test.h"
#include "stream/promise.h"
#include "stream/synchronizations.h"

#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace rekindle::runtime {

std::shared_ptr<Device> Device::open(const DeviceInfo& info, DeviceOptions options) {
    const bool tested = options.self_test && !options.compile_only;
    const std::shared_ptr<OpenedDevice> device =
        OpenedDevice::open_untested(info, std::move(options), test_mode_from_environment());
    if (tested && !device->self_test().usable())
        throw Unsupported(info.address() + " (" + info.name +
                              ") computes wrong answers and is not used: " + failures_of(device->self_test()),
                          "another driver version may be correct; `rekindle verify` runs the test again");
    return device;
}

std::shared_ptr<OpenedDevice> OpenedDevice::open_untested(const DeviceInfo& info, DeviceOptions options,
                                                          TestMode test_mode) {
    const std::shared_ptr<OpenedDevice> device(
        new OpenedDevice(VulkanDevice::open(info, std::move(options), test_mode)));
    device->vulkan_->set_owner(device);
    watch_process(*device);
    device->create_pipelines();
    return device;
}

OpenedDevice::~OpenedDevice() {
    if (!vulkan_usable()) {
        // The driver must not be called again, and locks may be held forever.
        static_cast<void>(profiler_.release());
        static_cast<void>(allocator_.release());
        static_cast<void>(pipelines_.release());
        return;
    }
    forget_device(*this);
    profiler_.reset();
    allocator_.reset();
    pipelines_.reset();
}

void OpenedDevice::create_pipelines() {
    // Pipelines that are compiled for inspection must not come from the cache.
    const DeviceOptions& options = vulkan_->options();
    const bool keeps_nothing = options.compile_only || options.pipeline_statistics;
    pipelines_ = std::make_unique<PipelineStore>(
        *vulkan_, keeps_nothing ? std::filesystem::path{} : cache_folder(options.cache_folder));
}

const Pipeline& OpenedDevice::prepare(const kernels::Kernel& kernel,
                                      std::span<const kernels::ConstantValue> constants) {
    return pipelines_->get(kernel, constants);
}

const Pipeline& OpenedDevice::request(const kernels::Kernel& kernel,
                                      std::span<const kernels::ConstantValue> constants) {
    return pipelines_->request(kernel, constants);
}

std::vector<PipelineStatistic>
OpenedDevice::pipeline_statistics(const kernels::Kernel& kernel,
                                  std::span<const kernels::ConstantValue> constants) {
    if (!vulkan_->enabled().executable_properties)
        throw Unsupported(vulkan_->options().pipeline_statistics
                              ? info().name + " reports no pipeline statistics"
                              : "the device was opened without DeviceOptions::pipeline_statistics");
    return pipelines_->statistics(pipelines_->get(kernel, constants));
}

void OpenedDevice::save_pipeline_cache() {
    pipelines_->save();
}

void OpenedDevice::require_running() const {
    if (vulkan_->options().compile_only)
        throw Unsupported(info().name + " was opened as compile-only: nothing can run on it");
    vulkan_->throw_if_lost();
}

DeviceAllocator& OpenedDevice::allocator() {
    require_running();
    allocator_once_([this] { allocator_ = make_allocator(*vulkan_); });
    return *allocator_;
}

std::unique_ptr<Stream> OpenedDevice::make_stream(StreamQueue queue) {
    StreamOptions options;
    options.queue = queue;
    // A CPU driver's threads compete with the host, so starting them early gains nothing.
    if (info().type != DeviceType::cpu)
        options.seconds_of_early_submit = 100e-6;
    return make_stream(options);
}

std::unique_ptr<Stream> OpenedDevice::make_stream(const StreamOptions& options) {
    require_running();
    return runtime::make_stream({*vulkan_, *pipelines_, allocator(), profiler()}, options);
}

std::unique_ptr<Promise> OpenedDevice::make_promise() {
    require_running();
    return runtime::make_promise(*vulkan_);
}
std::unique_ptr<PromiseSequence> OpenedDevice::make_promise_sequence() {
    require_running();
    return runtime::make_promise_sequence(*vulkan_);
}

KernelProfiler& OpenedDevice::profiler() {
    require_running();
    profiler_once_(
        [this] { profiler_ = std::make_unique<KernelProfiler>(*vulkan_, [this] { return make_stream(); }); });
    return *profiler_;
}

const SelfTestResult& OpenedDevice::self_test() {
    require_running();
    self_test_once_([this] {
        self_test_ = std::make_unique<SelfTestResult>(known_self_test());
        vulkan_->disable(self_test_->disabled());
    });
    return *self_test_;
}

/// Reads the result from the cache; without one, runs the test and saves its result. Wrong answers are logged
/// each time.
SelfTestResult OpenedDevice::known_self_test() {
    const std::filesystem::path folder = cache_folder(vulkan_->options().cache_folder);
    std::optional<SelfTestResult> result;
    try {
        if (!folder.empty() && vulkan_->test_mode().fault != TestMode::Fault::wrong_answer)
            result = SelfTestCache(info(), folder).read();
    } catch (const Error& error) {
        vulkan_->log(LogLevel::warning, std::string("self-test: ") + error.what() + "; it is run again");
    }
    if (!result)
        result = run_self_test(*this);
    for (const std::string& line : warnings_of(*result, info().name))
        vulkan_->log(LogLevel::warning, line);
    return std::move(*result);
}

SelfTestResult run_self_test(Device& device) {
    const VulkanDevice& known = dynamic_cast<OpenedDevice&>(device).vulkan();
    // Opens the device a second time, so that the caller's disabled features, memory, profile and injected
    // faults do not interfere.
    DeviceOptions options = known.options();
    options.self_test = false;
    TestMode mode = known.test_mode();
    if (mode.fault != TestMode::Fault::wrong_answer)
        mode.fault = TestMode::Fault::none;
    const std::shared_ptr<OpenedDevice> own =
        OpenedDevice::open_untested(device.info(), std::move(options), mode);
    const SelfTestResult result =
        run_known_answers(*own, [&] { return own->vulkan().inject(TestMode::Fault::wrong_answer); });
    const std::filesystem::path folder = cache_folder(known.options().cache_folder);
    try {
        if (!folder.empty() && mode.fault == TestMode::Fault::none)
            SelfTestCache(device.info(), folder).write(result);
    } catch (const Error& error) {
        own->vulkan().log(LogLevel::warning,
                          std::string("the result of the self-test cannot be saved: ") + error.what());
    }
    return result;
}

void OpenedDevice::synchronize() {
    vulkan_->throw_if_lost();
    ++counted_synchronizations().waits;
    for (const std::shared_ptr<StreamTimeline>& timeline : vulkan_->timelines())
        timeline->wait(timeline->queued());
}

bool OpenedDevice::settle(std::chrono::steady_clock::time_point until) noexcept {
    const bool compiled = !pipelines_ || pipelines_->stop_compiling(until);
    bool settled = !vulkan_->lost() && compiled;
    try {
        if (settled)
            for (const std::shared_ptr<StreamTimeline>& timeline : vulkan_->timelines())
                settled = timeline->settle(until) && settled;
        // Saving does not need the device, so it does not matter whether work is still running.
        if (compiled && pipelines_)
            pipelines_->save();
    } catch (const std::exception& error) { // out of memory for the list
        vulkan_->log(LogLevel::warning, error.what());
    }
    return settled;
}

} // namespace rekindle::runtime
