#pragma once
/// Vulkan devices: listing them, what they can do, and opening one.

#include <rekindle/kernels/kernel.h>
#include <rekindle/runtime/error.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::runtime {

enum class DeviceType { discrete, integrated, virtual_gpu, cpu, other };
std::string_view name(DeviceType type) noexcept;

struct Heap {
    std::uint64_t bytes = 0;
    bool device_local = false;
    bool host_visible = false; ///< some memory type of this heap can be mapped
    std::optional<std::uint64_t> budget_bytes,
        used_bytes; ///< from VK_EXT_memory_budget; used_bytes includes other processes
};

enum class ComponentType { float16, float32, float64, bfloat16, sint8, uint8, sint32, uint32, other };
struct CooperativeMatrixShape {
    std::uint32_t m = 0, n = 0, k = 0;
    ComponentType a{}, b{}, c{}, result{};
    bool subgroup_scope = true;
};

/// The shapes of matrix units that have kernels, in order of preference.
struct MatrixShape {
    std::uint32_t m, n, k;
    kernels::Feature feature;
};
inline constexpr MatrixShape matrix_shapes[] = {{16, 16, 16, kernels::Feature::matrix_16x16x16},
                                                {8, 16, 16, kernels::Feature::matrix_8x16x16},
                                                {8, 8, 16, kernels::Feature::matrix_8x8x16},
                                                {8, 8, 8, kernels::Feature::matrix_8x8x8}};

/// Capabilities of a device as the driver reports them; none is assumed.
struct Capabilities {
    kernels::Features features; ///< those that kernels ask for by name
    std::uint32_t minimum_subgroup = 0, maximum_subgroup = 0, default_subgroup = 0;
    std::uint32_t shared_bytes = 0;    ///< per workgroup
    std::uint32_t maximum_threads = 0; ///< per workgroup
    std::uint32_t push_constant_bytes = 0;
    /// From VK_AMD_shader_core_properties, which counts disabled units too, or VK_NV_shader_sm_builtins; 0 if
    /// the driver does not report it.
    std::uint32_t compute_units = 0;
    std::uint64_t maximum_allocation_bytes = 0;
    std::uint64_t maximum_buffer_bytes = 0;
    bool float32_atomic_add = false, int64_atomics = false, bfloat16 = false;
    std::vector<CooperativeMatrixShape> cooperative_matrices;
    std::vector<Heap> heaps;
    double timestamp_period_ns = 0; ///< 0: no timestamps on the compute queue
    bool transfer_queue = false;    ///< a copy-only queue family
    bool resizable_bar = false;     ///< device-local memory can be mapped beyond 256 MiB
    bool memory_budget = false, device_fault = false, external_host_memory = false;
};

struct DeviceInfo {
    std::uint32_t number =
        0;            ///< N of "gpu:N": discrete before integrated before CPU, then the loader's order
    std::string name; ///< as the driver reports it
    DeviceType type{};
    std::uint32_t vendor_id = 0, device_id = 0;
    std::array<std::uint8_t, 16>
        uuid{}; ///< stable across boots and driver versions if the driver keeps it stable
    /// "0000:03:00.0", as the kernel names the device; empty if the driver lacks VK_EXT_pci_bus_info.
    std::string pci_address;
    std::uint32_t driver_id = 0; ///< VkDriverId
    std::string driver_name, driver_info;
    std::uint32_t driver_version = 0, api_version = 0; ///< as Vulkan encodes them
    std::array<std::uint8_t, 4> conformance{};
    std::array<std::uint8_t, 16> pipeline_cache_uuid{};
    Capabilities can;
    std::string unusable; ///< empty if accepted; else why not, to follow "it" ("lacks bufferDeviceAddress")

    std::string address() const;   ///< "gpu:0"
    std::string uuid_text() const; ///< "GPU-…": 8-4-4-4-12 hexadecimal digits
};

/// Every device of the Vulkan loader that REKINDLE_VISIBLE_DEVICES allows, accepted or not. The variable is a
/// list of numbers and UUIDs; "" hides all. Its numbers refer to the unfiltered list, and the remaining
/// devices are renumbered. Without a loader or a driver the list is empty, and `reason` (if given) says why.
/// CPU drivers (lavapipe) come last. Opens no device and starts no thread, so a process may fork afterwards;
/// whether the child can open a device is up to the driver (NVIDIA's cannot: Error).
std::vector<DeviceInfo> list_devices(std::string* reason = nullptr);

/// The device that a user names, in a form of DeviceSelector (device_selector.h): "gpu" (the first accepted
/// one), "gpu:N", "N", a UUID … Throws Unsupported, listing the devices that exist.
DeviceInfo select_device(std::string_view text);

/// Reports that `compiled` of the `requested` pipelines are ready. Called at most ten times a second once
/// compiling has taken two seconds, and a last time with compiled == requested. Called from any thread, one
/// call at a time; must not throw or use the device.
using CompileProgressCallback = std::function<void(std::uint32_t compiled, std::uint32_t requested)>;

struct DeviceOptions {
    LogCallback log{};
    CompileProgressCallback compile_progress{};
    /// Pipelines can be made, but nothing can run: no queue, no fence, no command pool is used. Works on RADV
    /// without a GPU (RADV_FORCE_FAMILY). Allocations and streams throw Unsupported.
    bool compile_only = false;
    /// Ask for register counts of pipelines (Device::pipeline_statistics).
    bool pipeline_statistics = false;
    /// Run the known-answer self-test at the first use of this device and driver build (self_test.h).
    bool self_test = true;
    /// Where pipelines and self-test results are kept; empty: REKINDLE_CACHE_DIR, else
    /// XDG_CACHE_HOME/rekindle, else HOME/.cache/rekindle. If it is not writable, nothing is kept, which is
    /// logged once.
    std::filesystem::path cache_folder{};
};

/// One figure that the driver reports about compiled machine code.
struct PipelineStatistic {
    std::string executable, name;
    std::uint64_t value = 0;
};

/// A kernel with the values of its constants, compiled for one device: Stream::launch takes it without a
/// lookup by name. Made by Device::prepare and Device::request; opaque; lives as long as its device.
struct Pipeline;

/// Which queue of the device a stream submits to. Work on one queue starts in order, and a barrier holds up
/// everything behind it, so streams whose work should overlap use different queues.
enum class StreamQueue {
    main,   ///< the device's first compute queue
    beside, ///< a second compute queue, if the device has one; otherwise like main
    /// A copy-only queue, which has its own engines, if the device has one; otherwise like `beside`. On every
    /// device, launches on such a stream throw Error. Successive streams use the device's copy queues in
    /// turn.
    copies,
};

class Allocator;
class Stream;
class Promise;
class PromiseSequence;
class Profiler;
class SelfTestResult;

/// An opened device. Thread-safe. Objects made from it (buffers, streams, events) keep it alive.
///
/// A process that has opened a device cannot use it in a forked child: every call there throws Error, and
/// objects are destroyed without calling the driver. At process exit (exit, or main returns) submitted work
/// is waited for, at most five seconds, and pipelines are saved. After that, calls throw Error (in other
/// threads only after three seconds, by which time the process has ended), and objects that are destroyed
/// later do not call the driver. One process may have several devices open, including several Devices of one
/// GPU.
class Device : public std::enable_shared_from_this<Device> {
  public:
    /// Throws Error; Unsupported when info.unusable is not empty.
    static std::shared_ptr<Device> open(const DeviceInfo& info, DeviceOptions options = {});
    virtual ~Device() = default;

    virtual const DeviceInfo& info() const noexcept = 0;
    /// Features that the driver claims and that passed the self-test.
    virtual kernels::Features usable_features() const noexcept = 0;
    /// Compiles now what a later launch needs. Throws Unsupported when a feature is missing, Error when the
    /// driver refuses. The same (kernel, constants) is compiled once per device, kept in the cache on disk,
    /// and returns the same Pipeline, valid as long as the device. Looks the kernel up by name, so callers
    /// should keep the result.
    virtual const Pipeline& prepare(const kernels::Kernel& kernel,
                                    std::span<const kernels::ConstantValue> constants = {}) = 0;
    /// Returns the same pipeline without waiting: other threads compile it (REKINDLE_COMPILE_THREADS of them;
    /// with 0, the first submit does), and streams hold launches back until it is ready. Throws like
    /// prepare(), except when the driver refuses: the device is then lost as soon as a stream needs the
    /// pipeline.
    virtual const Pipeline& request(const kernels::Kernel& kernel,
                                    std::span<const kernels::ConstantValue> constants = {}) = 0;
    template <class P>
    const Pipeline& prepare(const kernels::TypedKernel<P>& kernel,
                            std::span<const kernels::ConstantValue> constants = {}) {
        return prepare(kernel.kernel, constants);
    }
    /// What the driver reports about the machine code; only with DeviceOptions::pipeline_statistics.
    virtual std::vector<PipelineStatistic>
    pipeline_statistics(const kernels::Kernel& kernel,
                        std::span<const kernels::ConstantValue> constants = {}) = 0;
    /// Writes the pipeline cache atomically now (closing the device does so too).
    virtual void save_pipeline_cache() = 0;

    virtual Allocator& allocator() = 0;
    /// A new stream with its own order of work. Any number of threads may use it at the same time (stream.h).
    virtual std::unique_ptr<Stream> make_stream(StreamQueue queue = StreamQueue::main) = 0;
    /// A promise of work that may use any memory.
    virtual std::unique_ptr<Promise> make_promise() = 0;
    virtual std::unique_ptr<PromiseSequence> make_promise_sequence() = 0;
    /// Measures the time per kernel while it is enabled.
    virtual Profiler& profiler() = 0;
    virtual const SelfTestResult& self_test() = 0;
    /// Waits until all streams are idle. Throws DeviceLost.
    virtual void synchronize() = 0;
};

} // namespace rekindle::runtime
