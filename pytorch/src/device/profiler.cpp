/// torch.profiler: event times (ProfilerStubs). profiler_session.cpp records kernels and copies.

#include "index_report.h"

#include <chrono>
#include <torch/csrc/profiler/stubs/base.h>

namespace rvk {

namespace {

using torch::profiler::impl::ProfilerVoidEventStub;

class Stubs final : public torch::profiler::impl::ProfilerStubs {
  public:
    void record(DeviceIndex* index, ProfilerVoidEventStub* event, std::int64_t* host_ns) const override {
        const DeviceIndex current = current_device();
        if (index)
            *index = current;
        if (host_ns)
            *host_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                           std::chrono::system_clock::now().time_since_epoch())
                           .count();
        *event = std::make_shared<runtime::Event>(current_stream(current).record(true));
    }
    /// Microseconds.
    float elapsed(const ProfilerVoidEventStub* earlier, const ProfilerVoidEventStub* later) const override {
        const auto& begin = *static_cast<const runtime::Event*>(earlier->get());
        const auto& end = *static_cast<const runtime::Event*>(later->get());
        end.wait();
        return static_cast<float>(end.seconds_since(begin) * 1e6);
    }
    void mark(const char*) const override {}
    void rangePush(const char*) const override {}
    void rangePop() const override {}
    bool enabled() const override { return true; }
    void onEachDevice(std::function<void(int)> f) const override {
        const DeviceIndex before = current_device();
        for (DeviceIndex index = 0; index < device_count(); ++index) {
            set_current_device(index);
            f(index);
        }
        set_current_device(before);
    }
    void synchronize() const override { rvk::synchronize(current_device()); }
};

/// PyTorch keeps the pointer for the whole process.
const bool methods_registered = [] {
    torch::profiler::impl::registerPrivateUse1Methods(new Stubs);
    return true;
}();

} // namespace

} // namespace rvk
