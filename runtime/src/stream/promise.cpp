#include "stream/promise.h"

#include "memory/device_allocator.h"
#include "stream/event.h"

#include <atomic>
#include <deque>
#include <mutex>
#include <utility>

namespace rekindle::runtime {

namespace {

/// The timeline of one promise: its value becomes 1.
class PromisedPoint final : public EventSource {
  public:
    explicit PromisedPoint(VulkanDevice& device) : device_(device.shared()) {}

    /// Does nothing if the promise has been kept or abandoned before. An empty event abandons it.
    void keep(const Event& reached) {
        if (reached.state()) {
            if (&reached.state()->source->device() != device_.get())
                throw Error("a promise of " + device_->info().address() +
                            " cannot be kept by an event of another device");
            reached.state()->source->flush_to(reached.state()->value);
        }
        {
            const std::scoped_lock lock(mutex_);
            if (kept_.load(std::memory_order_relaxed))
                return;
            reached_ = reached;
            kept_.store(true, std::memory_order_release);
        }
        device_->submit_held();
    }

    VulkanDevice& device() const noexcept override { return *device_; }
    std::uint64_t completed() const override { return is_kept() && reached_.done() ? 1 : 0; }
    bool submitted_to(std::uint64_t value) const noexcept override {
        return value == 0 || (is_kept() && (!reached_.state() ||
                                            reached_.state()->source->submitted_to(reached_.state()->value)));
    }
    TimelineWait submitted_wait(std::uint64_t) override {
        if (!reached_.state())
            return {};
        return reached_.state()->source->submitted_wait(reached_.state()->value);
    }
    void flush_to(std::uint64_t) override {
        if (is_kept() && reached_.state())
            reached_.state()->source->flush_to(reached_.state()->value);
    }
    void await_submit(std::uint64_t) override {
        await_keep();
        if (reached_.state())
            reached_.state()->source->await_submit(reached_.state()->value);
    }
    void wait(std::uint64_t) override {
        await_keep();
        if (reached_.state())
            reached_.state()->source->wait(reached_.state()->value);
    }
    void gather() override {
        if (is_kept() && reached_.state())
            reached_.state()->source->gather();
    }
    void wait_and_collect(std::uint64_t) override {
        await_keep();
        if (reached_.state())
            reached_.state()->source->wait_and_collect(reached_.state()->value);
    }

  private:
    /// Once true, reached_ does not change.
    bool is_kept() const noexcept { return kept_.load(std::memory_order_acquire); }
    void await_keep() {
        for (;;) {
            const std::uint64_t kept = device_->promises().kept();
            if (is_kept())
                return;
            device_->throw_if_lost();
            device_->promises().wait(kept);
        }
    }

    const std::shared_ptr<VulkanDevice> device_;
    std::mutex mutex_;
    std::atomic<bool> kept_{false};
    Event reached_;
};

class VulkanPromise final : public Promise {
  public:
    VulkanPromise(VulkanDevice& device, std::shared_ptr<PromisedPoint> point, Event event)
        : device_(device), point_(std::move(point)), event_(std::move(event)) {}
    ~VulkanPromise() override { abandon(); }
    VulkanPromise(const VulkanPromise&) = delete;
    VulkanPromise& operator=(const VulkanPromise&) = delete;

    Event event() const override { return event_; }
    void keep(const Event& reached) override { point_->keep(reached); }
    void abandon() noexcept override {
        try {
            point_->keep({});
        } catch (const std::exception& error) { // a submit that was held back has failed
            device_.log(LogLevel::error, error.what());
        }
    }

  private:
    VulkanDevice& device_;
    const std::shared_ptr<PromisedPoint> point_; ///< keeps the device alive
    const Event event_;
};

class VulkanPromiseSequence final : public PromiseSequence {
  public:
    explicit VulkanPromiseSequence(VulkanDevice& device) : device_(device.shared()) {}

    std::unique_ptr<Promise> next(std::span<const Access> ranges) override {
        device_->throw_if_lost();
        const std::vector<Access> plain = without_poison(ranges);
        auto point = std::make_shared<PromisedPoint>(*device_);
        const std::scoped_lock lock(mutex_);
        while (!unfinished_.empty() && unfinished_.front()->reached())
            unfinished_.pop_front();
        unfinished_.push_back(std::make_shared<Dependency>(point, 1, plain));
        auto state = std::make_shared<Event::State>(Dependencies(unfinished_.begin(), unfinished_.end()));
        return std::make_unique<VulkanPromise>(*device_, std::move(point), Event(std::move(state)));
    }

  private:
    const std::shared_ptr<VulkanDevice> device_;
    std::mutex mutex_;
    std::deque<std::shared_ptr<const Dependency>> unfinished_; ///< the device may not have reached these yet
};

} // namespace

void Promise::this_thread_keeps_promises() noexcept {
    thread_keeps_promises() = true;
}

std::unique_ptr<Promise> make_promise(VulkanDevice& device) {
    device.throw_if_lost();
    auto point = std::make_shared<PromisedPoint>(device);
    return std::make_unique<VulkanPromise>(device, point, Event(std::make_shared<Event::State>(point, 1)));
}

std::unique_ptr<PromiseSequence> make_promise_sequence(VulkanDevice& device) {
    device.throw_if_lost();
    return std::make_unique<VulkanPromiseSequence>(device);
}

} // namespace rekindle::runtime
