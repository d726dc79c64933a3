#include "stream/promise.h"

#include "stream/event.h"

#include <atomic>
#include <mutex>

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
    explicit VulkanPromise(VulkanDevice& device)
        : device_(device), point_(std::make_shared<PromisedPoint>(device)) {}
    ~VulkanPromise() override { abandon(); }
    VulkanPromise(const VulkanPromise&) = delete;
    VulkanPromise& operator=(const VulkanPromise&) = delete;

    Event event() const override { return Event(std::make_shared<Event::State>(point_, 1)); }
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
};

} // namespace

void Promise::this_thread_keeps_promises() noexcept {
    thread_keeps_promises() = true;
}

std::unique_ptr<Promise> make_promise(VulkanDevice& device) {
    device.throw_if_lost();
    return std::make_unique<VulkanPromise>(device);
}

} // namespace rekindle::runtime
