#pragma once
/// Runs a process group's collectives on tensors of this device, in order, on one thread.

#include "promised_work.h"
#include "transport.h"

#include <ATen/core/Tensor.h>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <torch/custom_class.h>
#include <vector>

namespace rvk::distributed {

/// The collective with that name, "all_reduce" for example. Throws c10::ValueError.
Collective collective_of(std::string_view name);

/// start() queues an operation and returns at once. The operation waits only for the work that uses its
/// tensors among the work that is already queued on the caller's current stream; it may overtake the rest.
/// Later work that waits for the operation is held back on the host until the group's thread has queued the
/// operation's last copy. The host can therefore run up to 64 collectives ahead. After a failure, all calls
/// fail with the same sentence. Thread-safe.
class Group : public torch::CustomClassHolder {
  public:
    /// number: identifies the group in calls of Python code (python_calls.h). ranks: the global rank of each
    /// rank of the group.
    Group(std::int64_t number, int rank, std::vector<std::int64_t> ranks);

    /// Throws DistBackendError if an earlier operation has failed.
    c10::intrusive_ptr<c10d::Work> start(Call call);

    /// Python calls one of these from rvk::connect_group, on the group's thread, before the first operation.
    void use_one_host(std::vector<Descriptor> peers, std::vector<at::Tensor> memories);
    void use_several_hosts();

    /// Lets the thread end after the queued operations, and waits for it for at most `timeout` seconds.
    /// start() throws from then on. May be called again.
    void close(double timeout);

  private:
    struct Job {
        Call call;
        c10::intrusive_ptr<PromisedWork> work;
        Ready ready;
    };

    /// Returns a promise for the next job on a device. used: the memory that the job uses.
    std::unique_ptr<runtime::Promise> next_promise(DeviceIndex device, std::span<const runtime::Access> used);
    void start_thread();
    void run_jobs();
    const Job* next_job();
    void remove_job();
    /// Returns the call that is queued behind the running one (transport.h).
    std::optional<Following> following(std::chrono::microseconds patience);
    void run(const Job& job) noexcept;
    bool waits_for_pieces(const Job& job) const;
    void run_call(const Job& job, Staging& staging);
    void broadcast(const Operation& operation, Staging& staging, Tensors tensors, int root);
    void fail(const Job& job, const std::string& sentence) noexcept;
    void connect(double timeout);
    c10::intrusive_ptr<Staging> staging_of(DeviceIndex device);
    std::optional<std::string> failure() const;

    const std::int64_t number_;
    const int rank_;
    const std::vector<std::int64_t> ranks_;

    // Only the group's thread uses these.
    std::unique_ptr<Transport> transport_;
    std::map<DeviceIndex, c10::intrusive_ptr<Staging>> staging_;

    mutable std::mutex mutex_;
    std::condition_variable added_, finished_;
    std::deque<Job> jobs_; ///< the first one may be running
    /// By device. A device runs its jobs in order, because all of them are queued on its staging's stream.
    std::map<DeviceIndex, std::unique_ptr<runtime::PromiseSequence>> promises_;
    bool started_ = false, closed_ = false, ended_ = false;
    std::optional<std::string> failure_;
};

} // namespace rvk::distributed
