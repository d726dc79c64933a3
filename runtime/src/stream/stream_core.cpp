#include "stream/stream_core.h"

#include "stream/profiler.h"
#include "stream/synchronizations.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

namespace rekindle::runtime {

VkSemaphore make_timeline(VulkanDevice& device) {
    VkSemaphoreTypeCreateInfo type{};
    type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    const VkSemaphoreCreateInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type, 0};
    VkSemaphore semaphore = VK_NULL_HANDLE;
    device.check(device.vk().vkCreateSemaphore(device.handle(), &info, nullptr, &semaphore),
                 "vkCreateSemaphore");
    return semaphore;
}

namespace {

std::size_t mix(std::size_t hash, std::uint64_t value) {
    return (hash ^ value) * 0x9E3779B97F4A7C15ull;
}

std::span<const std::byte> data_of(const Operation& operation) {
    if (const auto* dispatch = std::get_if<Dispatch>(&operation))
        return dispatch->data;
    if (const auto* update = std::get_if<Update>(&operation))
        return update->data;
    return {};
}

void set_data(Operation& operation, std::span<const std::byte> data) {
    if (auto* dispatch = std::get_if<Dispatch>(&operation))
        dispatch->data = data;
    else if (auto* update = std::get_if<Update>(&operation))
        update->data = data;
}

Queue* queue_of_uploads(VulkanDevice& device, const StreamOptions& options) {
    if (options.queue == StreamQueue::copies)
        return nullptr;
    switch (options.upload_queue) {
    case UploadQueue::own_family:
        return device.transfer_queue();
    case UploadQueue::second:
        return device.transfer_queue() != nullptr ? device.transfer_queue() : &device.compute_queue();
    case UploadQueue::stream:
        break;
    }
    return nullptr;
}

} // namespace

StreamCore::StreamCore(const StreamParts& parts, Queue& queue, const StreamOptions& options)
    : device_(parts.device.shared()), parts_(parts), options_(options),
      number_(device_->next_stream_number()), queue_(queue),
      upload_queue_(queue_of_uploads(*device_, options)), notes_ranges_(upload_queue_ != nullptr),
      collecting_(device_->test_mode().random_order.has_value() || device_->test_mode().guard_pages) {
    device_->throw_if_lost();
    timeline_ = make_timeline(*device_);
    if (const auto seed = device_->test_mode().random_order) {
        const std::size_t number = device_->timelines().size();
        random_.seed(mix(*seed, number));
        device_->log(LogLevel::debug, "stream " + std::to_string(number) +
                                          ": random order, REKINDLE_RANDOM_ORDER=" + std::to_string(*seed));
    }
}

StreamCore::~StreamCore() {
    if (!vulkan_usable())
        return;
    device_->vk().vkDestroySemaphore(device_->handle(), timeline_, nullptr);
    device_->vk().vkDestroySemaphore(device_->handle(), gate_, nullptr);
}

std::unique_lock<std::mutex> StreamCore::acquire() {
    std::unique_lock lock(mutex_);
    if (!vulkan_usable()) {
        lock.unlock();
        throw_if_unusable();
    }
    return lock;
}

std::unique_lock<std::mutex> StreamCore::acquire_with_room() {
    std::unique_lock lock = acquire();
    while (in_flight_.size() >= options_.submits_in_flight && !open_) {
        gather_completed();
        if (in_flight_.size() < options_.submits_in_flight)
            break;
        const std::uint64_t value = in_flight_[in_flight_.size() - options_.submits_in_flight]->value();
        lock.unlock(); // so that other threads can submit what this stream holds back
        await(value);
        lock = acquire();
    }
    return lock;
}

PreparedKernel& StreamCore::prepared(const Pipeline& pipeline) {
    if (pipeline.number < prepared_.size())
        if (PreparedKernel* const known = prepared_[pipeline.number].get();
            known != nullptr && known->pipeline == &pipeline)
            return *known;
    return prepare(pipeline);
}

PreparedKernel& StreamCore::prepare(const Pipeline& pipeline) {
    if (pipeline.device != device_.get())
        throw Error("launch of " + std::string(pipeline.kernel->name) +
                    ": prepared for a different device than " + device_->info().address());
    if (pipeline.number >= prepared_.size())
        prepared_.resize(pipeline.number + 1);
    auto& place = prepared_[pipeline.number];
    place = std::make_unique<PreparedKernel>(PreparedKernel{&pipeline, {}});
    return *place;
}

void StreamCore::put(const Pipeline& pipeline, Groups groups, std::span<const std::byte> parameters,
                     std::span<const Access> accesses, double expected_seconds) {
    const auto lock = acquire_with_room();
    PreparedKernel& kernel = prepared(pipeline);
    if (groups.x == 0 || groups.y == 0 || groups.z == 0)
        return;
    place_poison_fills();
    place(Dispatch{&kernel, groups, parameters}, accesses,
          kernel.time.estimate(std::uint64_t{groups.x} * groups.y * groups.z, expected_seconds));
}

void StreamCore::put(const Operation& operation, std::span<const Access> accesses) {
    LaunchTime::Sample sample;
    sample.seconds = Batch::seconds_of(operation);
    const auto lock = acquire_with_room();
    place_poison_fills();
    place(operation, accesses, sample);
}

Batch& StreamCore::open() {
    if (open_)
        return *open_;
    gather_completed();
    if (free_.empty()) {
        device_->throw_if_lost();
        open_ = std::make_unique<Batch>(*device_, parts_.profiler, queue_, options_);
    } else {
        open_ = std::move(free_.back());
        free_.pop_back();
    }
    open_->begin(submitted() + waiting_.size() + 1);
    early_submit_seconds_ = options_.seconds_of_early_submit;
    return *open_;
}

void StreamCore::place(const Operation& operation, std::span<const Access> accesses,
                       const LaunchTime::Sample& sample) {
    if (open_ && (!open_->empty() || !group_.empty()) &&
        (!open_->room_for(group_.size() + 1) ||
         open_->seconds() + sample.seconds > options_.seconds_per_submit))
        next_submit();
    if (options_.barriers && hazards_.needs_barrier(accesses))
        place_barrier();
    Batch& batch = open();
    hazards_.add(accesses);
    record_or_hold(operation, accesses, tag_of(operation, accesses));
    batch.expect(sample);
    queued_.store(batch.value(), std::memory_order_release);
    submit_for_idle_device();
}

void StreamCore::submit_for_idle_device() {
    const std::uint32_t least = options_.operations_of_early_submit, now = open_->operations();
    const bool many = least != 0 && now >= least && now % least == 0 && std::has_single_bit(now / least);
    const bool long_enough = early_submit_seconds_ > 0 && open_->seconds() >= early_submit_seconds_;
    // Asking the driver whether the device is idle costs as much as a launch, so this asks only at certain
    // counts and durations.
    if (!(many || long_enough) || !group_.empty() || !waiting_.empty())
        return;
    if (long_enough)
        early_submit_seconds_ = 2 * open_->seconds();
    if (completed() == submitted())
        submit();
}

RecordTag StreamCore::tag_of(const Operation& operation, std::span<const Access> accesses) const {
    RecordTag tag{.operation = thread_operation()};
    if (!parts_.profiler.records())
        return tag;
    tag.enabled = true;
    tag.correlation = thread_correlation();
    if (const auto* copy = std::get_if<Copy>(&operation))
        tag.bytes = copy->bytes;
    else
        for (const Access& access : accesses)
            tag.bytes += access.bytes;
    return tag;
}

void StreamCore::fill_before_next(const BufferLocation& at, DevicePointer begin, std::uint64_t bytes,
                                  std::uint32_t word) {
    const std::scoped_lock lock(fills_mutex_);
    fills_.push_back({{at.buffer, at.offset, bytes, word}, {{without_poison(begin.address)}, bytes, true}});
    // With guard pages, barriers end submits, so up to two more submits may precede the one with the fills.
    fills_value_ = next_fill_value_ + (device_->test_mode().guard_pages ? 2 : 0);
    has_fills_.store(true, std::memory_order_release);
}

std::uint64_t StreamCore::queued() const {
    const std::uint64_t operations = queued_.load(std::memory_order_acquire);
    if (!device_->test_mode().poison)
        return operations;
    const std::scoped_lock lock(fills_mutex_);
    return std::max(operations, fills_value_);
}

void StreamCore::place_poison_fills() {
    if (!has_fills_.load(std::memory_order_acquire))
        return;
    std::vector<PoisonFill> fills;
    {
        const std::scoped_lock lock(fills_mutex_);
        fills.swap(fills_);
        has_fills_.store(false, std::memory_order_release);
    }
    // One barrier serves all fills, so that they need at most one more submit. They may overlap, because all
    // fills of a range write the same word.
    std::vector<Access> accesses;
    accesses.reserve(fills.size());
    for (const PoisonFill& f : fills)
        accesses.push_back(f.access);
    if (hazards_.needs_barrier(accesses))
        place_barrier();
    const Batch& batch = open();
    hazards_.add(accesses);
    for (const PoisonFill& f : fills)
        record_or_hold(f.fill, std::span(&f.access, 1), {});
    queued_.store(batch.value(), std::memory_order_release);
}

void StreamCore::record_or_hold(const Operation& operation, std::span<const Access> accesses,
                                const RecordTag& tag) {
    if (notes_ranges_)
        open_->touch(accesses);
    if (!collecting_ && !group_.empty())
        emit_compiled(*open_, group_);
    if (!collecting_ && group_.empty() && bindable(operation)) {
        open_->record(operation, tag);
        return;
    }
    const auto data = data_of(operation);
    group_.push_back({operation, {data.begin(), data.end()}, tag});
    if (device_->test_mode().guard_pages)
        group_accesses_.insert(group_accesses_.end(), accesses.begin(), accesses.end());
}

bool StreamCore::bindable(const Operation& operation) const {
    const auto* dispatch = std::get_if<Dispatch>(&operation);
    return dispatch == nullptr || dispatch->kernel->pipeline->ready();
}

void StreamCore::record_now(Batch& batch, Pending& pending) {
    if (const auto* dispatch = std::get_if<Dispatch>(&pending.operation)) {
        try {
            parts_.pipelines.complete(*dispatch->kernel->pipeline);
        } catch (const DeviceLost&) {
            throw;
        } catch (const Error& error) {
            device_->lose(error.what());
        }
    }
    set_data(pending.operation, pending.data);
    batch.record(pending.operation, pending.tag);
}

void StreamCore::emit_compiled(Batch& batch, std::deque<Pending>& group) {
    while (!group.empty() && bindable(group.front().operation)) {
        record_now(batch, group.front());
        group.pop_front();
    }
}

void StreamCore::emit_group(Batch& batch, std::deque<Pending>& group) {
    if (device_->test_mode().random_order)
        std::shuffle(group.begin(), group.end(), random_);
    while (!group.empty()) {
        record_now(batch, group.front());
        group.pop_front();
    }
}

void StreamCore::next_submit() {
    while (auto batch = take_waiting(false))
        execute(std::move(batch));
    if (collecting_ || (group_.empty() && waiting_.empty()) || waiting_.size() >= most_waiting)
        submit();
    else
        set_aside();
}

std::unique_ptr<Batch> StreamCore::take_waiting(bool compile) {
    if (waiting_.empty() || !waiting_.front().batch->can_submit())
        return nullptr;
    auto& [batch, group] = waiting_.front();
    if (compile)
        emit_group(*batch, group);
    else
        emit_compiled(*batch, group);
    if (!group.empty())
        return nullptr;
    std::unique_ptr<Batch> taken = std::move(batch);
    waiting_.pop_front();
    return taken;
}

void StreamCore::set_aside() {
    do
        place_poison_fills();
    while (!close_for_fills());
    waiting_.push_back({std::move(open_), std::move(group_)});
    group_.clear();
}

void StreamCore::place_barrier() {
    if (collecting_) {
        emit_group(open(), group_);
        if (device_->test_mode().guard_pages && open_ && !open_->empty()) {
            if (waiting_.empty() && open_->can_submit())
                execute(std::exchange(open_, nullptr));
            else
                set_aside();
        }
        open().record(Barrier{}, {});
    } else if (group_.empty()) {
        open().record(Barrier{}, {});
    } else {
        group_.push_back({Barrier{}, {}, {}});
    }
    barriers_.fetch_add(1, std::memory_order_relaxed);
    hazards_.barrier();
}

std::shared_ptr<Event::State> StreamCore::record(bool timing) {
    device_->throw_if_lost();
    const auto lock = acquire();
    if (timing && device_->compute_queue().timestamp_bits == 0)
        throw Unsupported(device_->info().name + " has no timestamps on its compute queue");
    if (timing) {
        if (open_ && !open_->room_for(group_.size()))
            submit();
        emit_group(open(), group_);
        queued_.store(open_->value(), std::memory_order_release);
    }
    auto state = std::make_shared<Event::State>(shared_from_this(), queued_.load(std::memory_order_relaxed));
    state->timing = timing;
    if (timing)
        open_->stamp(state);
    return state;
}

void StreamCore::wait_for(const Event::State& event) {
    device_->throw_if_lost();
    const auto lock = acquire();
    // Operations queued before need not wait, so they are submitted first. An otherwise empty submit is, too,
    // if the driver does not have all the work before the event yet: other events may already refer to that
    // submit. If it also waited for a promise, and the promise depended on one of those events, neither would
    // end.
    if (open_ && (open_->operations() + group_.size() > 0 || !event.source->submitted_to(event.value)))
        submit();
    open().wait_for(event.source, event.value);
    queued_.store(open_->value(), std::memory_order_release);
    if (notes_ranges_)
        inherit(event);
}

void StreamCore::inherit(const Event::State& event) {
    Dependencies dependencies = event.dependencies;
    if (dependencies.empty())
        dependencies.push_back(
            std::make_shared<Dependency>(event.source, event.value, std::span(&all_memory, 1)));
    // All dependencies on one source concern the same memory.
    std::erase_if(inherited_, [&](const auto& known) {
        return known->reached() || std::ranges::any_of(dependencies, [&](const auto& added) {
                   return known->source == added->source && known->value <= added->value;
               });
    });
    inherited_.insert(inherited_.end(), dependencies.begin(), dependencies.end());
}

Dependencies StreamCore::inherited_for(std::span<const Access> ranges) {
    std::erase_if(inherited_, [](const auto& known) { return known->reached(); });
    Dependencies result;
    std::ranges::copy_if(inherited_, std::back_inserter(result),
                         [&](const auto& known) { return known->concerns(ranges); });
    return result;
}

std::uint64_t StreamCore::last_submit_with(std::span<const Access> ranges) const {
    const auto uses = [&](const Batch& batch) {
        return batch.value() <= without_ranges_ ||
               std::ranges::any_of(ranges, [&](const Access& range) { return batch.touches(range); });
    };
    if (open_ && uses(*open_))
        return open_->value();
    for (auto waiting = waiting_.rbegin(); waiting != waiting_.rend(); ++waiting)
        if (uses(*waiting->batch))
            return waiting->batch->value();
    for (auto batch = in_flight_.rbegin(); batch != in_flight_.rend(); ++batch)
        if (uses(**batch))
            return (*batch)->value();
    return 0;
}

std::uint64_t StreamCore::last_use(const Access& range) {
    const std::scoped_lock lock(mutex_);
    gather_completed();
    const std::uint64_t value = last_submit_with({&range, 1});
    if (value > submitted())
        submit();
    return value;
}

std::vector<Event> StreamCore::record_uses(std::span<const Access> ranges) {
    device_->throw_if_lost();
    const auto lock = acquire();
    gather_completed();
    place_poison_fills();
    const std::uint64_t all = queued_.load(std::memory_order_relaxed);
    if (!std::exchange(notes_ranges_, true))
        without_ranges_ = all;
    std::vector<Event> events;
    // In the test modes, an operation may end up in a later submit than the one that has noted its ranges.
    const std::uint64_t last = collecting_ ? all : last_submit_with(ranges);
    if (last > completed())
        events.emplace_back(std::make_shared<Event::State>(shared_from_this(), last));
    // The device reaches the event only when it has finished the whole submit. So this ends the submit, to
    // keep operations that the caller queues later out of it.
    if (open_ && last == open_->value())
        next_submit();
    for (const std::shared_ptr<const Dependency>& dependency : inherited_for(ranges))
        events.emplace_back(std::make_shared<Event::State>(Dependencies{dependency}));
    return events;
}

std::shared_ptr<StreamCore> StreamCore::upload_lane(const Access& target) {
    if (upload_queue_ == nullptr || parts_.profiler.records())
        return nullptr;
    const std::scoped_lock one_upload(lane_mutex_);
    const std::uint64_t used = last_use(target);
    Dependencies waits;
    {
        const std::scoped_lock lock(mutex_);
        if (!lane_) {
            StreamOptions options = options_;
            options.upload_queue = UploadQueue::stream;
            lane_ = std::make_shared<StreamCore>(parts_, *upload_queue_, options);
            device_->add_timeline(lane_);
        }
        waits = inherited_for({&target, 1});
    }
    for (const std::shared_ptr<const Dependency>& dependency : waits)
        if (dependency->source != lane_)
            lane_->wait_for({dependency->source, dependency->value});
    if (used > 0)
        lane_->wait_for({shared_from_this(), used});
    return lane_;
}

void StreamCore::flush() {
    device_->throw_if_lost();
    const auto lock = acquire();
    submit();
}

void StreamCore::flush_to(std::uint64_t value) {
    if (submitted() >= value)
        return;
    device_->throw_if_lost();
    const auto lock = acquire();
    submit();
    // In poison mode, fills may have reserved a value for which nothing was recorded.
    while (submitted() + waiting_.size() < value) {
        open();
        if (waiting_.empty())
            execute(std::exchange(open_, nullptr));
        else
            set_aside();
    }
}

void StreamCore::submit() {
    while (auto batch = take_waiting(true))
        execute(std::move(batch));
    do {
        place_poison_fills();
        if (!open_ || (open_->empty() && group_.empty()))
            return;
        if (!waiting_.empty() || !open_->can_submit()) {
            set_aside();
            return;
        }
        emit_group(*open_, group_);
    } while (!close_for_fills());
    execute(std::exchange(open_, nullptr));
}

void StreamCore::submit_held() {
    const std::scoped_lock lock(mutex_);
    const bool held = !waiting_.empty() || (open_ && open_->was_held());
    while (auto batch = take_waiting(true))
        execute(std::move(batch));
    // The host may have recorded more since then, and may not submit it for a while.
    if (held && !collecting_ && waiting_.empty() && open_ && open_->can_submit())
        submit();
}

bool StreamCore::close_for_fills() {
    const std::scoped_lock lock(fills_mutex_);
    if (!fills_.empty())
        return false;
    next_fill_value_ = open_->value() + 1;
    return true;
}

void StreamCore::execute(std::unique_ptr<Batch> batch) {
    batch->finish();
    inject_faults(*batch);
    const std::uint64_t value = batch->value();
    {
        const std::scoped_lock lock(fills_mutex_);
        next_fill_value_ = std::max(next_fill_value_, value + 1);
    }
    const std::scoped_lock lock(queue_.mutex);
    // With guard pages, one group runs at a time on the whole device, because protection is per page.
    const bool alone = device_->test_mode().guard_pages;
    const auto read_only = alone ? allocator().protect(group_accesses_) : nullptr;
    group_accesses_.clear();
    batch->submit(queue_.handle, timeline_);
    in_flight_.push_back(std::move(batch));
    submitted_.store(value, std::memory_order_release);
    device_->promises().count_submit();
    if (alone)
        await(value);
}

void StreamCore::gather() {
    const std::scoped_lock lock(mutex_);
    gather_completed();
}

void StreamCore::gather_completed() {
    if (in_flight_.empty())
        return;
    const std::uint64_t reached = completed();
    while (!in_flight_.empty() && in_flight_.front()->value() <= reached) {
        in_flight_.front()->retire(number_);
        if (free_.size() < options_.submits_in_flight)
            free_.push_back(std::move(in_flight_.front()));
        in_flight_.pop_front();
    }
}

void StreamCore::wait(std::uint64_t value) {
    device_->throw_if_lost();
    flush_to(value);
    await_submit(value);
    await(value);
    gather();
}

void StreamCore::await_submit(std::uint64_t value) {
    while (submitted() < value) {
        const std::uint64_t kept = device_->promises().kept();
        {
            const auto lock = acquire();
            submit();
        }
        if (submitted() < value)
            device_->promises().wait(kept);
        device_->throw_if_lost();
    }
}

void StreamCore::wait_and_collect(std::uint64_t value) {
    wait(value);
    allocator().collect();
    allocator().throw_on_damage();
}

} // namespace rekindle::runtime
