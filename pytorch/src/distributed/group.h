#pragma once
/// Runs a process group's collectives on tensors of this device, in order, on one thread.

#include "promised_work.h"
#include "transport.h"

#include <ATen/core/Tensor.h>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <torch/custom_class.h>
#include <vector>

namespace rvk::distributed {

enum class Collective : std::uint8_t {
    barrier,
    all_reduce,
    reduce,
    broadcast,
    all_gather,
    gather,
    scatter,
    reduce_scatter,
    all_to_all
};
/// The collective with that name, "all_reduce" for example. Throws c10::ValueError.
Collective collective_of(std::string_view name);

/// A call of a collective. The tensors need not be contiguous; all are on `device`.
struct Call {
    Collective collective = Collective::barrier;
    std::string what;   ///< its description in error messages; equal on all ranks
    double timeout = 0; ///< seconds, from when the operation starts
    DeviceIndex device = 0;
    /// all_reduce, reduce, broadcast: each is overwritten, and inputs is empty. Several gathers or scatters
    /// of reductions may be one call: input i (all_gather) belongs to outputs i·size to (i + 1)·size - 1, and
    /// output i (reduce_scatter) to the inputs.
    std::vector<at::Tensor> outputs, inputs;
    int root = -1; ///< of reduce, broadcast, gather, scatter
    Reduction reduction;
};

/// A call queues the operation and returns at once. The operation starts after the work that was on the
/// caller's current stream at that time. Work that waits for it is held back until the thread has queued its
/// last copies. So the host runs ahead of the collectives, by at most 64. After a failure all calls fail with
/// the same sentence. Thread-safe.
class Group : public torch::CustomClassHolder {
  public:
    /// number: with which the operators below identify the group. ranks: its ranks' numbers in the default
    /// group.
    Group(std::int64_t number, int rank, std::vector<std::int64_t> ranks);

    /// Throws DistBackendError if an earlier operation has failed.
    c10::intrusive_ptr<c10d::Work> start(Call call);

    /// Chooses the transport, before the first operation. The operator rvk::connect_group calls one of them
    /// on the group's thread.
    void use_one_host(std::vector<Descriptor> peers, std::vector<at::Tensor> memories);
    void use_several_hosts();

    /// Ends the thread after the operations that are queued, and waits for that, at most `timeout` seconds.
    /// Later calls of start() throw. May be called again.
    void close(double timeout);

  private:
    struct Job {
        Call call;
        c10::intrusive_ptr<PromisedWork> work;
        runtime::Event ready;
    };

    void start_thread();
    void run_jobs();
    std::optional<Job> next_job();
    void run(const Job& job) noexcept;
    void run_call(const Call& call, Staging& staging);
    void fail(const Job& job, const std::string& sentence) noexcept;
    void connect(double timeout);
    c10::intrusive_ptr<Staging> staging_of(DeviceIndex device);
    std::optional<std::string> failure() const;

    const std::int64_t number_;
    const int rank_;
    const std::vector<std::int64_t> ranks_;

    // Of the group's thread.
    std::unique_ptr<Transport> transport_;
    std::map<DeviceIndex, c10::intrusive_ptr<Staging>> staging_;

    mutable std::mutex mutex_;
    std::condition_variable added_, finished_;
    std::deque<Job> jobs_;
    std::size_t unfinished_ = 0; ///< jobs that are queued or running
    bool started_ = false, closed_ = false, ended_ = false;
    std::optional<std::string> failure_;
};

} // namespace rvk::distributed
