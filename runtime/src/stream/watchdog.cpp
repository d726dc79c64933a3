/// How a stream waits for the device, and how it closes if the device does not finish.

#include "stream/stream_core.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <thread>

namespace rekindle::runtime {

namespace {

using Seconds = std::chrono::duration<double>;

/// A thread that blocks in the driver wakes up late. So a wait first polls without pause, then naps between
/// polls, which costs a few percent of a CPU core, and blocks only after longest_napping.
constexpr std::chrono::microseconds longest_polling(100), nap(20);
constexpr std::chrono::milliseconds longest_napping(50);

std::uint64_t nanoseconds(Seconds seconds) {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(seconds).count());
}

VkResult wait_for_value(const VulkanDevice& device, VkSemaphore semaphore, std::uint64_t value,
                        Seconds at_most) {
    VkSemaphoreWaitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
    info.semaphoreCount = 1;
    info.pSemaphores = &semaphore;
    info.pValues = &value;
    return device.vk().vkWaitSemaphores(device.handle(), &info, nanoseconds(at_most));
}

} // namespace

std::uint64_t StreamCore::completed() const {
    const std::uint64_t known = completed_.load(std::memory_order_acquire);
    if (known == submitted())
        return known;
    std::uint64_t value = 0;
    if (device_->vk().vkGetSemaphoreCounterValue(device_->handle(), timeline_, &value) != VK_SUCCESS)
        return known;
    std::uint64_t before = known;
    while (before < value && !completed_.compare_exchange_weak(before, value, std::memory_order_acq_rel)) {
    }
    return std::max(before, value);
}

std::uint64_t StreamCore::progress() const {
    std::uint64_t sum = 0;
    for (const auto& timeline : device_->timelines())
        sum += timeline->completed();
    return sum;
}

bool StreamCore::completes_soon(std::uint64_t value) const {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    for (;;) {
        if (completed() >= value)
            return true;
        const auto waited = Clock::now() - begin;
        if (waited < longest_polling)
            std::this_thread::yield();
        else if (waited < longest_napping && !device_->lost())
            std::this_thread::sleep_for(nap);
        else
            return false;
    }
}

void StreamCore::await(std::uint64_t value) {
    if (completes_soon(value))
        return;
    const Seconds patience(device_->test_mode().watchdog(device_->info().type == DeviceType::cpu));
    const Seconds slice = std::min(patience / 8, Seconds(1));
    ProgressDeadline deadline(patience.count(), 0, ProgressDeadline::Clock::now());
    for (;;) {
        device_->throw_if_lost();
        const VkResult result = wait_for_value(*device_, timeline_, value, slice);
        if (result == VK_SUCCESS)
            return;
        if (result != VK_TIMEOUT)
            device_->check(result, "vkWaitSemaphores");
        if (deadline.expired(progress(), ProgressDeadline::Clock::now()))
            break;
    }
    for (const auto& timeline : device_->timelines())
        if (auto* core = dynamic_cast<StreamCore*>(timeline.get()))
            core->release_hang();
    std::array<char, 64> why;
    std::snprintf(why.data(), why.size(), "no progress for %g s", patience.count());
    device_->lose(why.data());
}

void StreamCore::inject_faults(Batch& batch) {
    if (device_->inject(TestMode::Fault::device_lost))
        device_->lose("a submit was lost because REKINDLE_FAULT requested it");
    if (!device_->inject(TestMode::Fault::hang))
        return;
    const std::scoped_lock lock(gate_mutex_);
    gate_ = make_timeline(*device_);
    batch.wait_for({gate_, 1, shared_from_this()});
}

void StreamCore::release_hang() noexcept {
    const std::scoped_lock lock(gate_mutex_);
    if (gate_ == VK_NULL_HANDLE || gate_open_)
        return;
    gate_open_ = true;
    const VkSemaphoreSignalInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, nullptr, gate_, 1};
    device_->vk().vkSignalSemaphore(device_->handle(), &info);
}

bool StreamCore::drained() const noexcept {
    const Seconds after_loss =
        std::min(Seconds(5), Seconds(device_->test_mode().watchdog(device_->info().type == DeviceType::cpu)));
    return wait_for_value(*device_, timeline_, submitted(), after_loss) != VK_TIMEOUT;
}

bool StreamCore::settle(std::chrono::steady_clock::time_point until) noexcept {
    using Clock = std::chrono::steady_clock;
    // Gives a thread that is recording or submitting time to finish; it may also be waiting for the device,
    // or have been stopped midway. Threads that come later see that the process is exiting.
    const auto patience = std::min(until, Clock::now() + std::chrono::milliseconds(500));
    bool held = mutex_.try_lock();
    while (!held && Clock::now() < patience) {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        held = mutex_.try_lock();
    }
    if (held)
        mutex_.unlock();
    release_hang();
    return wait_for_value(*device_, timeline_, submitted(),
                          std::max(Seconds(until - Clock::now()), Seconds(0))) == VK_SUCCESS;
}

void StreamCore::close() noexcept {
    if (!vulkan_usable()) // its mutex may be held forever
        return;
    try {
        if (!device_->lost())
            wait(queued());
    } catch (const std::exception& e) {
        device_->log(LogLevel::error, std::string("a stream was closed with failed work: ") + e.what());
    }
    const std::scoped_lock lock(mutex_);
    if (lane_)
        lane_->close();
    release_hang();
    inherited_.clear();
    open_.reset();
    if (device_->lost() && !drained()) {
        device_->leave_running(shared_from_this());
        return;
    }
    waiting_.clear();
    in_flight_.clear();
    free_.clear();
}

} // namespace rekindle::runtime
