#include "devices.h"

#include "compile_line.h"
#include "cuda_variables.h"
#include "log.h"

#include <array>
#include <atomic>
#include <bitset>
#include <c10/core/DeviceType.h>
#include <c10/util/Exception.h>
#include <cstdlib>
#include <mutex>
#include <pthread.h>
#include <string_view>
#include <vector>

namespace rvk {

namespace {

constexpr std::size_t pool_streams = 32, own_streams = 256, own_copy_streams = 512;
/// A device has the default stream, the pool, and an OwnStream's streams for kernels and for copies, in this
/// order.
constexpr std::size_t first_own = 1 + pool_streams, first_own_copies = first_own + own_streams,
                      streams_of_a_device = first_own_copies + own_copy_streams;

runtime::StreamQueue queue_of(std::size_t number) {
    return number == 0                 ? runtime::StreamQueue::main
           : number < first_own_copies ? runtime::StreamQueue::beside
                                       : runtime::StreamQueue::copies;
}

/// Features beyond the runtime's minimum that any kernel of the PyTorch device may use.
constexpr kernels::Features needed_features{kernels::Feature::storage_16bit, kernels::Feature::storage_8bit};

struct OpenDevice {
    std::shared_ptr<runtime::Device> device;
    std::mutex stream_mutex;
    std::array<std::atomic<runtime::Stream*>, streams_of_a_device> ready{};
    std::array<std::unique_ptr<runtime::Stream>, streams_of_a_device> streams;
    std::atomic<std::uint32_t> next_pool{0};
    std::mutex own_mutex;
    std::bitset<streams_of_a_device> owned; ///< the streams that an OwnStream holds; guarded by own_mutex
};

struct Slot {
    runtime::DeviceInfo info;
    std::mutex mutex;
    std::unique_ptr<OpenDevice> owner;
    std::atomic<OpenDevice*> open{nullptr};
};

void print_log(rekindle::LogLevel level, std::string_view text) {
    if (is_logging() || level == rekindle::LogLevel::warning || level == rekindle::LogLevel::error)
        print_line(text);
}

/// Set when the process enumerates the devices.
std::atomic<bool> enumerated{false};

/// Set in the child when a process that has the table below forks.
std::atomic<bool> in_forked_child{false};
extern "C" void rvk_after_fork() {
    in_forked_child.store(true, std::memory_order_relaxed);
}

/// Devices live as long as the process: PyTorch's tensors and threads may outlive every static object.
class DeviceTable {
  public:
    static DeviceTable& instance() {
        static auto* const table = new DeviceTable;
        return *table;
    }

    std::size_t count() const noexcept { return slots_.size(); }
    const std::string& reason() const noexcept { return reason_; }
    Slot& slot(DeviceIndex index) {
        TORCH_CHECK_INDEX(index >= 0 && static_cast<std::size_t>(index) < slots_.size(),
                          "There is no device rvk:", static_cast<int>(index), "; ",
                          slots_.empty() ? reason_
                          : slots_.size() == 1
                              ? "the only device is rvk:0"
                              : "the devices are rvk:0 to rvk:" + std::to_string(slots_.size() - 1),
                          ".");
        return *slots_[static_cast<std::size_t>(index)];
    }
    OpenDevice& open(DeviceIndex index) {
        TORCH_CHECK(!forked(), "This process was forked after torch.rvk had looked for devices, which ",
                    "no Vulkan driver supports; start workers with the method 'spawn'.");
        Slot& s = slot(index);
        if (OpenDevice* ready = s.open.load(std::memory_order_acquire))
            return *ready;
        const std::lock_guard lock(s.mutex);
        if (!s.owner) {
            auto opened = std::make_unique<OpenDevice>();
            runtime::DeviceOptions options;
            options.log = print_log;
            options.compile_progress = compile_line();
            opened->device = runtime::Device::open(s.info, std::move(options));
            s.owner = std::move(opened);
            s.open.store(s.owner.get(), std::memory_order_release);
        }
        return *s.owner;
    }
    static bool forked() noexcept { return in_forked_child.load(std::memory_order_relaxed); }

  private:
    DeviceTable() {
        enumerated.store(true, std::memory_order_relaxed);
        TORCH_CHECK(::pthread_atfork(nullptr, nullptr, rvk_after_fork) == 0, "pthread_atfork: out of memory");
        std::vector<runtime::DeviceInfo> found;
        try {
            found = runtime::list_devices(&reason_);
        } catch (const std::exception& error) {
            reason_ = error.what();
        }
        const bool named = std::getenv("REKINDLE_VISIBLE_DEVICES") != nullptr;
        bool gpu = false;
        for (const auto& info : found)
            gpu |= usable(info) && info.type != runtime::DeviceType::cpu;
        for (auto& info : found) {
            if (!usable(info) || (gpu && !named && info.type == runtime::DeviceType::cpu))
                continue;
            slots_.push_back(std::make_unique<Slot>());
            slots_.back()->info = std::move(info);
        }
        if (slots_.empty() && reason_.empty())
            reason_ = "no Vulkan device can be used (`rekindle devices` says why)";
        keep_visible();
    }
    /// Keeps only the slots that CUDA's and ROCm's variables leave visible.
    void keep_visible() {
        std::vector<std::string> uuids;
        uuids.reserve(slots_.size());
        for (const auto& slot : slots_)
            uuids.push_back(slot->info.uuid_text());
        const auto visible = visible_by_cuda_variables(uuids);
        if (!visible)
            return;
        std::vector<std::unique_ptr<Slot>> left;
        for (const std::size_t number : visible->numbers)
            left.push_back(std::move(slots_[number]));
        if (left.empty() && !slots_.empty())
            reason_ = visible->variable + " hides every device";
        slots_ = std::move(left);
    }
    static bool usable(const runtime::DeviceInfo& info) {
        return info.unusable.empty() && info.can.features.contains(needed_features);
    }

    std::string reason_;
    std::vector<std::unique_ptr<Slot>> slots_;
};

thread_local DeviceIndex thread_device = 0;
/// The id of this thread's current stream on each device; 0, the default stream, if none was set.
thread_local std::vector<c10::StreamId> thread_streams;

c10::Stream stream_id(DeviceIndex index, c10::StreamId id) {
    return c10::Stream(c10::Stream::UNSAFE, c10::Device(c10::kPrivateUse1, index), id);
}

c10::Stream take_own_stream(DeviceIndex index, OwnStream::Kind kind) {
    const bool copies = kind == OwnStream::Kind::copies;
    const std::size_t first = copies ? first_own_copies : first_own,
                      count = copies ? own_copy_streams : own_streams;
    OpenDevice& open = DeviceTable::instance().open(index);
    const std::lock_guard lock(open.own_mutex);
    for (std::size_t number = first; number < first + count; ++number)
        if (!open.owned[number]) {
            open.owned.set(number);
            return stream_id(index, static_cast<c10::StreamId>(number));
        }
    TORCH_CHECK(false, "rvk:", static_cast<int>(index), " has no stream left for another process group: all ",
                count, " are in use. Destroy groups that are no longer needed.");
}

} // namespace

DeviceIndex device_count() noexcept {
    try {
        return static_cast<DeviceIndex>(DeviceTable::instance().count());
    } catch (...) {
        return 0;
    }
}
bool has_enumerated_devices() noexcept {
    return enumerated.load(std::memory_order_relaxed);
}
bool is_forked() noexcept {
    return DeviceTable::forked();
}
std::string why_no_device() {
    return device_count() == 0 ? DeviceTable::instance().reason() : std::string();
}

bool is_open(DeviceIndex index) noexcept {
    return index >= 0 && index < device_count() && DeviceTable::instance().slot(index).open.load() != nullptr;
}
const runtime::DeviceInfo& device_info(DeviceIndex index) {
    return DeviceTable::instance().slot(index).info;
}
runtime::Device& device(DeviceIndex index) {
    return *DeviceTable::instance().open(index).device;
}

DeviceIndex current_device() noexcept {
    return thread_device;
}
void set_current_device(DeviceIndex index) {
    DeviceTable::instance().slot(index);
    thread_device = index;
}
void set_current_device_unchecked(DeviceIndex index) noexcept {
    thread_device = index;
}
DeviceIndex index_of(c10::Device device) {
    if (!device.has_index())
        return thread_device;
    DeviceTable::instance().slot(device.index());
    return device.index();
}

c10::Stream current_stream_id(DeviceIndex index) noexcept {
    const auto slot = static_cast<std::size_t>(index);
    return stream_id(index, slot < thread_streams.size() ? thread_streams[slot] : 0);
}
c10::Stream default_stream_id(DeviceIndex index) noexcept {
    return stream_id(index, 0);
}
c10::Stream next_pool_stream(DeviceIndex index) {
    auto& open = DeviceTable::instance().open(index);
    return stream_id(index, 1 + open.next_pool.fetch_add(1) % pool_streams);
}

OwnStream::OwnStream(DeviceIndex index, Kind kind) : id_(take_own_stream(index, kind)) {}
OwnStream::~OwnStream() {
    OpenDevice& open = DeviceTable::instance().open(id_.device().index());
    const std::lock_guard lock(open.own_mutex);
    open.owned.reset(static_cast<std::size_t>(id_.id()));
}

c10::Stream exchange_stream(c10::Stream stream) {
    const DeviceIndex index = index_of(stream.device());
    const c10::Stream before = current_stream_id(index);
    if (thread_streams.size() <= static_cast<std::size_t>(index))
        thread_streams.resize(static_cast<std::size_t>(index) + 1);
    thread_streams[static_cast<std::size_t>(index)] = stream.id();
    return before;
}
runtime::Stream& stream(c10::Stream id) {
    OpenDevice& open = DeviceTable::instance().open(index_of(id.device()));
    TORCH_CHECK_INDEX(id.id() >= 0 && static_cast<std::size_t>(id.id()) < streams_of_a_device,
                      "There is no stream ", id.id(), " of ", id.device(), ".");
    const auto number = static_cast<std::size_t>(id.id());
    if (runtime::Stream* ready = open.ready[number].load(std::memory_order_acquire))
        return *ready;
    const std::lock_guard lock(open.stream_mutex);
    if (!open.streams[number]) {
        open.streams[number] = open.device->make_stream(queue_of(number));
        open.ready[number].store(open.streams[number].get(), std::memory_order_release);
    }
    return *open.streams[number];
}
runtime::Stream& current_stream(DeviceIndex index) {
    return stream(current_stream_id(index));
}

void finish_process() noexcept {
    if (DeviceTable::forked())
        return;
    for (DeviceIndex index = 0; index < device_count(); ++index)
        if (is_open(index)) {
            try {
                device(index).synchronize();
                device(index).save_pipeline_cache();
            } catch (const std::exception& error) {
                print_log(rekindle::LogLevel::error, error.what());
            }
        }
}

} // namespace rvk
