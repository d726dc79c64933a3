/// torch.profiler: reports to Kineto what ran on the device, and for which PyTorch operator.

#include "../compat.h"
#include "devices.h"

#if RVK_HAS_PROFILER_REGISTRY

// Macros that PyTorch's own build defines for its headers.
#define USE_KINETO
#define KINETO_NAMESPACE libkineto
#define FMT_HEADER_ONLY 1
#include <chrono>
#include <libkineto.h>
#include <output_base.h>
#include <string>
#include <torch/csrc/profiler/standalone/privateuse1_profiler.h>
#include <vector>

namespace rvk {

namespace {

using libkineto::ActivityType;

/// Nanoseconds to add to a steady-clock time to get the system-clock time that Kineto uses.
std::int64_t steady_to_system() {
    using std::chrono::duration_cast, std::chrono::nanoseconds;
    const auto steady = std::chrono::steady_clock::now().time_since_epoch();
    const auto system = std::chrono::system_clock::now().time_since_epoch();
    return duration_cast<nanoseconds>(system).count() - duration_cast<nanoseconds>(steady).count();
}

ActivityType type_of(std::string_view name) {
    if (name == "copy" || name == "upload")
        return ActivityType::GPU_MEMCPY;
    return name == "fill" ? ActivityType::GPU_MEMSET : ActivityType::CONCURRENT_KERNEL;
}

class Session final : public libkineto::IActivityProfilerSession {
  public:
    void start() override {
        for (DeviceIndex index = 0; index < device_count(); ++index)
            if (is_open(index))
                try {
                    device(index).profiler().enable_records(true);
                    device(index).profiler().take_records();
                    recording_.push_back(index);
                } catch (const runtime::Error& error) {
                    errors_.emplace_back(error.what());
                }
        status_ = libkineto::TraceStatus::RECORDING;
    }
    void stop() override {
        for (const DeviceIndex index : recording_) {
            device(index).synchronize();
            std::uint64_t lost = 0;
            for (const auto& record : device(index).profiler().take_records(&lost))
                records_.push_back({index, record});
            if (lost != 0)
                errors_.push_back(std::to_string(lost) + " operations of rvk:" + std::to_string(index) +
                                  " were dropped because the buffer was full");
            device(index).profiler().enable_records(false);
        }
        runtime::Stream::set_correlation(0);
        status_ = libkineto::TraceStatus::PROCESSING;
    }
    std::vector<std::string> errors() override { return errors_; }

    void processTrace(libkineto::ActivityLogger& logger) override { process(logger, {}); }
    void processTrace(libkineto::ActivityLogger& logger, libkineto::getLinkedActivityCallback linked,
                      std::int64_t, std::int64_t) override {
        process(logger, linked);
    }
    std::unique_ptr<libkineto::DeviceInfo> getDeviceInfo() override { return nullptr; }
    std::vector<libkineto::ResourceInfo> getResourceInfos() override { return {}; }
    std::unique_ptr<libkineto::CpuTraceBuffer> getTraceBuffer() override { return std::move(buffer_); }

    void pushCorrelationId(std::uint64_t id) override { enter(id); }
    void popCorrelationId() override { leave(); }

  private:
    struct Recorded {
        DeviceIndex device;
        runtime::Profiler::Record record;
    };

    static std::vector<std::uint64_t>& thread_correlations() {
        thread_local std::vector<std::uint64_t> ids;
        return ids;
    }
    static void enter(std::uint64_t id) {
        thread_correlations().push_back(id);
        runtime::Stream::set_correlation(id);
    }
    static void leave() {
        auto& ids = thread_correlations();
        if (!ids.empty())
            ids.pop_back();
        runtime::Stream::set_correlation(ids.empty() ? 0 : ids.back());
    }

    void process(libkineto::ActivityLogger& logger, const libkineto::getLinkedActivityCallback& linked) {
        const std::int64_t offset = steady_to_system();
        buffer_ = std::make_unique<libkineto::CpuTraceBuffer>();
        buffer_->span = libkineto::TraceSpan(0, 0, "rvk");
        for (const auto& [index, record] : records_) {
            buffer_->emplace_activity(buffer_->span, type_of(record.name), std::string(record.name));
            auto& activity = libkineto::CpuTraceBuffer::toRef(buffer_->activities.back());
            activity.startTime = record.begin_ns + offset;
            activity.endTime = record.end_ns + offset;
            activity.id = static_cast<std::int32_t>(record.correlation);
            activity.device = index;
            activity.resource = static_cast<std::int32_t>(record.stream);
            activity.flow.id = static_cast<std::uint32_t>(record.correlation);
            activity.flow.type = libkineto::kLinkAsyncCpuGpu;
            activity.flow.start = 0;
            if (linked)
                activity.linked = linked(activity.id);
            activity.addMetadataQuoted("stream", std::to_string(record.stream));
            activity.addMetadataQuoted("bytes", std::to_string(record.bytes));
            logger.handleGenericActivity(activity);
        }
        buffer_->gpuOpCount = static_cast<int>(records_.size());
    }

    std::vector<DeviceIndex> recording_;
    std::vector<Recorded> records_;
    std::vector<std::string> errors_;
    std::unique_ptr<libkineto::CpuTraceBuffer> buffer_;
};

class Profiler final : public libkineto::IActivityProfiler {
  public:
    const std::string& name() const override { return name_; }
    const std::set<ActivityType>& availableActivities() const override { return activities_; }
    std::unique_ptr<libkineto::IActivityProfilerSession> configure(const std::set<ActivityType>& wanted,
                                                                   const libkineto::Config&) override {
        for (const ActivityType type : activities_)
            if (wanted.contains(type))
                return std::make_unique<Session>();
        return nullptr;
    }
    std::unique_ptr<libkineto::IActivityProfilerSession> configure(std::int64_t, std::int64_t,
                                                                   const std::set<ActivityType>& wanted,
                                                                   const libkineto::Config& config) override {
        return configure(wanted, config);
    }

  private:
    const std::string name_ = "rvk";
    const std::set<ActivityType> activities_{ActivityType::GPU_MEMCPY, ActivityType::GPU_MEMSET,
                                             ActivityType::CONCURRENT_KERNEL};
};

REGISTER_PRIVATEUSE1_PROFILER(Profiler);

} // namespace

} // namespace rvk

#endif
