#include "stream/batch.h"

#include "stream/event.h"
#include "stream/profiler.h"
#include "stream/synchronizations.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace rekindle::runtime {

namespace {

constexpr std::uint32_t events_per_submit = 62;
/// The driver takes longer to submit more operations (on an H200 0.02 ms for a few, 0.1 ms for 256). A device
/// that waits for a promise is often idle, so the first submit after a promise holds few operations and
/// starts sooner.
constexpr std::uint32_t operations_after_promise = 32;
constexpr std::uint32_t queries_reset_at_once = 64;

// Copies are estimated at the speed of a slow bus, PCIe 3.0 with 4 lanes; fills do not cross the bus.
constexpr double copy_bytes_per_second = 3e9, fill_bytes_per_second = 2e10;

double ticks_between(std::uint64_t begin, std::uint64_t end, std::uint32_t bits) {
    const std::uint64_t mask = bits >= 64 ? ~0ull : (1ull << bits) - 1;
    return static_cast<double>((end - begin) & mask);
}

} // namespace

Batch::Batch(VulkanDevice& device, KernelProfiler& profiler, const Queue& queue, const StreamOptions& options)
    : device_(device), profiler_(profiler), options_(options),
      copies_alone_(queue.family != device.compute_queue().family),
      timestamp_bits_(copies_alone_ ? 0 : queue.timestamp_bits) {
    const VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, nullptr,
                                       VK_COMMAND_POOL_CREATE_TRANSIENT_BIT, queue.family};
    device_.check(device_.vk().vkCreateCommandPool(device_.handle(), &pool, nullptr, &pool_),
                  "vkCreateCommandPool");
    const VkCommandBufferAllocateInfo buffer{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, nullptr, pool_,
                                             VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
    try {
        device_.check(device_.vk().vkAllocateCommandBuffers(device_.handle(), &buffer, &commands_),
                      "vkAllocateCommandBuffers");
        if (timestamp_bits_ > 0)
            create_queries();
    } catch (...) {
        device_.vk().vkDestroyCommandPool(device_.handle(), pool_, nullptr);
        throw;
    }
    samples_.reserve(options.operations_per_submit);
    notes_.reserve(options.operations_per_submit);
}

Batch::~Batch() {
    if (!vulkan_usable())
        return;
    device_.vk().vkDestroyQueryPool(device_.handle(), queries_, nullptr);
    device_.vk().vkDestroyCommandPool(device_.handle(), pool_, nullptr);
}

void Batch::create_queries() {
    // Two for the submit, two per profiled operation and one per event, rounded up to whole resets.
    const std::uint32_t needed = 2 + 2 * options_.operations_per_submit + events_per_submit;
    const std::uint32_t count =
        (needed + queries_reset_at_once - 1) / queries_reset_at_once * queries_reset_at_once;
    const VkQueryPoolCreateInfo info{
        VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, nullptr, 0, VK_QUERY_TYPE_TIMESTAMP, count, 0};
    device_.check(device_.vk().vkCreateQueryPool(device_.handle(), &info, nullptr, &queries_),
                  "vkCreateQueryPool");
    ticks_.reserve(count);
}

void Batch::begin(std::uint64_t value) {
    device_.check(device_.vk().vkResetCommandPool(device_.handle(), pool_, 0), "vkResetCommandPool");
    const VkCommandBufferBeginInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, nullptr,
                                        VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT, nullptr};
    device_.check(device_.vk().vkBeginCommandBuffer(commands_, &info), "vkBeginCommandBuffer");
    value_ = value;
    operations_ = used_queries_ = 0;
    seconds_ = 0;
    bound_ = VK_NULL_HANDLE;
    waits_.clear();
    sources_.clear();
    touched_.clear();
    samples_.clear();
    stamps_.clear();
    timed_.clear();
    notes_.clear();
    if (queries_ != VK_NULL_HANDLE)
        timestamp();
}

bool Batch::room_for(std::size_t more) const {
    const std::uint32_t most = was_held() ? std::min(options_.operations_per_submit, operations_after_promise)
                                          : options_.operations_per_submit;
    return operations_ + more <= most && stamps_.size() < events_per_submit;
}

std::uint32_t Batch::timestamp() {
    if (used_queries_ % queries_reset_at_once == 0)
        device_.vk().vkCmdResetQueryPool(commands_, queries_, used_queries_, queries_reset_at_once);
    // Written at the end of all earlier work, so differences of such times add up even if operations overlap.
    device_.vk().vkCmdWriteTimestamp(commands_, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries_,
                                     used_queries_);
    return used_queries_++;
}

Batch::OperationName Batch::named(const Operation& operation) {
    if (const auto* dispatch = std::get_if<Dispatch>(&operation))
        return {dispatch->kernel->pipeline->kernel, nullptr};
    if (std::holds_alternative<Copy>(operation))
        return {nullptr, "copy"};
    return {nullptr, std::holds_alternative<Update>(operation) ? "upload" : "fill"};
}

void Batch::record(const Operation& operation, const RecordTag& tag) {
    const bool timed = queries_ != VK_NULL_HANDLE && !std::holds_alternative<Barrier>(operation) &&
                       (tag.enabled || (profiler_.enabled() && std::holds_alternative<Dispatch>(operation)));
    if (timed) {
        const OperationName name = named(operation);
        timed_.push_back({name.kernel, name.what, tag, timestamp()});
    }
    std::visit([&](const auto& o) { put(o, tag.operation); }, operation);
    if (timed)
        timestamp();
    operations_ += std::holds_alternative<Barrier>(operation) ? 0 : 1;
}

void Batch::put(const Dispatch& dispatch, const char* from) {
    const VolkDeviceTable& vk = device_.vk();
    const Pipeline& pipeline = *dispatch.kernel->pipeline;
    if (const VkPipeline handle = pipeline.handle.load(std::memory_order_acquire); bound_ != handle) {
        vk.vkCmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, handle);
        bound_ = handle;
    }
    if (!dispatch.data.empty())
        vk.vkCmdPushConstants(commands_, device_.pipeline_layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                              static_cast<std::uint32_t>(dispatch.data.size()), dispatch.data.data());
    vk.vkCmdDispatch(commands_, dispatch.groups.x, dispatch.groups.y, dispatch.groups.z);
    note(from, pipeline.kernel, nullptr,
         std::uint64_t{dispatch.groups.x} * dispatch.groups.y * dispatch.groups.z);
}

void Batch::put(const Copy& copy, const char* from) {
    const VkBufferCopy region{copy.from_offset, copy.to_offset, copy.bytes};
    device_.vk().vkCmdCopyBuffer(commands_, copy.from, copy.to, 1, &region);
    note(from, nullptr, "copy", copy.bytes);
}

void Batch::put(const Update& update, const char* from) {
    device_.vk().vkCmdUpdateBuffer(commands_, update.to, update.to_offset, update.data.size(),
                                   update.data.data());
    note(from, nullptr, "upload", update.data.size());
}

void Batch::put(const Fill& fill, const char* from) {
    device_.vk().vkCmdFillBuffer(commands_, fill.to, fill.to_offset, fill.bytes, fill.word);
    note(from, nullptr, "fill", fill.bytes);
}

void Batch::put(const Barrier&, const char*) {
    memory_barrier(false);
}

void Batch::memory_barrier(bool to_host) {
    if (options_.synchronization2 && device_.enabled().synchronization2) {
        const VkPipelineStageFlags2 work =
            VK_PIPELINE_STAGE_2_TRANSFER_BIT | (copies_alone_ ? 0 : VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT);
        VkMemoryBarrier2 barrier{};
        barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2;
        barrier.srcStageMask = work;
        barrier.srcAccessMask = VK_ACCESS_2_MEMORY_WRITE_BIT;
        barrier.dstStageMask = to_host ? VK_PIPELINE_STAGE_2_HOST_BIT : work;
        barrier.dstAccessMask =
            to_host ? VK_ACCESS_2_HOST_READ_BIT : VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT;
        VkDependencyInfo info{};
        info.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO;
        info.memoryBarrierCount = 1;
        info.pMemoryBarriers = &barrier;
        device_.vk().vkCmdPipelineBarrier2(commands_, &info);
        return;
    }
    const VkPipelineStageFlags work =
        VK_PIPELINE_STAGE_TRANSFER_BIT | (copies_alone_ ? 0 : VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT);
    const VkPipelineStageFlags then = to_host ? VkPipelineStageFlags{VK_PIPELINE_STAGE_HOST_BIT} : work;
    const VkAccessFlags use = to_host ? VkAccessFlags{VK_ACCESS_HOST_READ_BIT}
                                      : VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    const VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, VK_ACCESS_MEMORY_WRITE_BIT, use};
    device_.vk().vkCmdPipelineBarrier(commands_, work, then, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

void Batch::touch(std::span<const Access> accesses) {
    for (const Access& a : accesses)
        touched_.insert(a.begin.address, a.bytes);
}

void Batch::wait_for(TimelineWait wait) {
    const auto same = std::find_if(waits_.begin(), waits_.end(),
                                   [&](const TimelineWait& w) { return w.semaphore == wait.semaphore; });
    if (same == waits_.end())
        waits_.push_back(std::move(wait));
    else
        same->value = std::max(same->value, wait.value);
}

void Batch::wait_for(std::shared_ptr<EventSource> source, std::uint64_t value) {
    const auto same =
        std::find_if(sources_.begin(), sources_.end(), [&](const auto& s) { return s.first == source; });
    if (same == sources_.end())
        sources_.emplace_back(std::move(source), value);
    else
        same->second = std::max(same->second, value);
}

bool Batch::can_submit() const noexcept {
    return std::all_of(sources_.begin(), sources_.end(),
                       [](const auto& s) { return s.first->submitted_to(s.second); });
}

void Batch::stamp(std::shared_ptr<Event::State> event) {
    const std::uint32_t query = timestamp();
    stamps_.push_back({std::move(event), query});
}

double Batch::seconds_of(const Operation& operation) {
    if (const auto* copy = std::get_if<Copy>(&operation))
        return static_cast<double>(copy->bytes) / copy_bytes_per_second;
    if (const auto* fill = std::get_if<Fill>(&operation))
        return static_cast<double>(fill->bytes) / fill_bytes_per_second;
    return 0;
}

void Batch::expect(const LaunchTime::Sample& sample) {
    seconds_ += sample.seconds;
    if (sample.of == nullptr)
        return;
    if (samples_.empty() || !samples_.back().same_as(sample))
        samples_.push_back(sample);
}

void Batch::note(const char* from, const kernels::Kernel* kernel, const char* what, std::uint64_t size) {
    if (!notes_.empty() && notes_.back().kernel == kernel && notes_.back().what == what &&
        notes_.back().operation == from && notes_.back().size == size)
        ++notes_.back().count;
    else
        notes_.push_back({kernel, what, from, size, 1});
}

std::string Batch::summary() const {
    constexpr std::size_t shown = 32;
    std::string text;
    std::array<char, 64> sizes;
    const std::size_t first = notes_.size() > shown ? notes_.size() - shown : 0;
    if (first > 0)
        text = "..., ";
    for (std::size_t i = first; i < notes_.size(); ++i) {
        const Note& n = notes_[i];
        if (i > first)
            text += ", ";
        if (n.operation != nullptr)
            text.append(n.operation).append(": ");
        text += n.kernel != nullptr ? n.kernel->name : std::string_view(n.what);
        const int length = std::snprintf(sizes.data(), sizes.size(),
                                         n.kernel != nullptr ? " (%llu workgroups)" : " (%llu bytes)",
                                         static_cast<unsigned long long>(n.size));
        text.append(sizes.data(), static_cast<std::size_t>(length));
        if (n.count > 1)
            text += " x " + std::to_string(n.count);
    }
    return text;
}

void Batch::finish() {
    for (const auto& [source, value] : sources_)
        if (TimelineWait wait = source->submitted_wait(value); wait.semaphore != VK_NULL_HANDLE)
            wait_for(std::move(wait));
    // The end of a submit does not by itself make writes visible to the host.
    memory_barrier(true);
    if (queries_ != VK_NULL_HANDLE)
        timestamp();
    device_.check(device_.vk().vkEndCommandBuffer(commands_), "vkEndCommandBuffer");
    if (!notes_.empty())
        device_.note_operation(summary());
}

void Batch::submit(VkQueue queue, VkSemaphore signal) {
    const VkResult result = options_.synchronization2 && device_.enabled().synchronization2
                                ? submit_commands2(queue, signal)
                                : submit_commands(queue, signal);
    if (result == VK_ERROR_DEVICE_LOST)
        device_.check(result, "vkQueueSubmit");
    // Callers rely on the queued work, which is now lost, so nothing can continue, whatever the result code
    // is.
    if (result != VK_SUCCESS)
        device_.lose("vkQueueSubmit returned " + name_of(result));
}

VkResult Batch::submit_commands(VkQueue queue, VkSemaphore signal) {
    std::vector<VkSemaphore> semaphores;
    std::vector<std::uint64_t> values;
    for (const TimelineWait& w : waits_) {
        semaphores.push_back(w.semaphore);
        values.push_back(w.value);
    }
    const std::vector<VkPipelineStageFlags> stages(waits_.size(), VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
    VkTimelineSemaphoreSubmitInfo timeline{};
    timeline.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
    timeline.waitSemaphoreValueCount = static_cast<std::uint32_t>(values.size());
    timeline.pWaitSemaphoreValues = values.data();
    timeline.signalSemaphoreValueCount = 1;
    timeline.pSignalSemaphoreValues = &value_;
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.pNext = &timeline;
    info.waitSemaphoreCount = static_cast<std::uint32_t>(semaphores.size());
    info.pWaitSemaphores = semaphores.data();
    info.pWaitDstStageMask = stages.data();
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands_;
    info.signalSemaphoreCount = 1;
    info.pSignalSemaphores = &signal;
    return device_.vk().vkQueueSubmit(queue, 1, &info, VK_NULL_HANDLE);
}

VkResult Batch::submit_commands2(VkQueue queue, VkSemaphore signal) {
    const auto at = [](VkSemaphore semaphore, std::uint64_t value) {
        return VkSemaphoreSubmitInfo{VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO, nullptr, semaphore, value,
                                     VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,    0};
    };
    std::vector<VkSemaphoreSubmitInfo> waits;
    waits.reserve(waits_.size());
    for (const TimelineWait& w : waits_)
        waits.push_back(at(w.semaphore, w.value));
    const VkSemaphoreSubmitInfo signals = at(signal, value_);
    const VkCommandBufferSubmitInfo commands{VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO, nullptr, commands_,
                                             0};
    VkSubmitInfo2 info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2;
    info.waitSemaphoreInfoCount = static_cast<std::uint32_t>(waits.size());
    info.pWaitSemaphoreInfos = waits.data();
    info.commandBufferInfoCount = 1;
    info.pCommandBufferInfos = &commands;
    info.signalSemaphoreInfoCount = 1;
    info.pSignalSemaphoreInfos = &signals;
    return device_.vk().vkQueueSubmit2(queue, 1, &info, VK_NULL_HANDLE);
}

void Batch::retire(std::uint32_t stream) {
    waits_.clear();
    sources_.clear();
    if (queries_ != VK_NULL_HANDLE) {
        ticks_.resize(used_queries_);
        device_.check(device_.vk().vkGetQueryPoolResults(device_.handle(), queries_, 0, used_queries_,
                                                         ticks_.size() * sizeof(std::uint64_t), ticks_.data(),
                                                         sizeof(std::uint64_t),
                                                         VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
                      "vkGetQueryPoolResults");
        const double period = device_.info().can.timestamp_period_ns * 1e-9;
        learn(ticks_between(ticks_.front(), ticks_.back(), timestamp_bits_) * period);
        for (const Timed& t : timed_) {
            const std::uint64_t begin = ticks_[t.query], end = ticks_[t.query + 1];
            if (t.kernel != nullptr)
                profiler_.add(*t.kernel, ticks_between(begin, end, timestamp_bits_) * period);
            if (t.tag.enabled)
                profiler_.add_record({t.kernel != nullptr ? t.kernel->name : std::string_view(t.what), stream,
                                      0, 0, t.tag.bytes, t.tag.correlation, false},
                                     begin, end);
        }
        for (const Stamp& s : stamps_) {
            s.event->ticks = ticks_[s.query];
            s.event->resolved.store(true, std::memory_order_release);
        }
    }
    stamps_.clear();
}

void Batch::learn(double measured_seconds) {
    if (seconds_ <= 0)
        return;
    for (const LaunchTime::Sample& sample : samples_)
        sample.of->learn(sample, measured_seconds / seconds_);
}

} // namespace rekindle::runtime
