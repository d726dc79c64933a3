#pragma once
/// How the data of collectives travels between the ranks of a group.

#include "links.h"
#include "reduction.h"
#include "staging.h"

#include <ATen/core/Tensor.h>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rvk::distributed {

using Tensors = std::span<const at::Tensor>;

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

/// A call of a collective. The tensors need not be contiguous; all are on `device`.
struct Call {
    Collective collective = Collective::barrier;
    std::string what;   ///< its description in error messages; equal on all ranks
    double timeout = 0; ///< seconds, from when the operation starts
    DeviceIndex device = 0;
    /// all_reduce, reduce and broadcast overwrite each output; inputs is empty. One call may hold several
    /// all_gathers or reduce_scatters: input i of an all_gather goes to outputs i·size to (i + 1)·size - 1,
    /// and output i of a reduce_scatter comes from the inputs with those numbers.
    std::vector<at::Tensor> outputs, inputs;
    /// The tensors that the caller passed, whose shapes profiles show. The inputs may be parts of one of
    /// them.
    std::vector<at::Tensor> passed;
    int root = -1; ///< of reduce, broadcast, gather, scatter
    Reduction reduction;
};

/// The events to wait for before a call's tensors are read or written. It holds one list of events for all
/// tensors, or, if the call is an all_reduce of one tensor, a list for each piece of it (pieces.h): the
/// backward pass computes the first pieces of a bucket of gradients long before the last.
using Ready = std::vector<std::vector<runtime::Event>>;

/// A call that is queued behind the running one.
struct Following {
    /// Valid until the running operation returns. Null if it must not begin before that operation has ended.
    const Call* call = nullptr;
    std::vector<runtime::Event>
        ready; ///< wait for all of them before reading the first piece that the call sends
};
/// Waits at most `patience` for the next call and returns it; empty if none has been queued.
using FollowingOf = std::function<std::optional<Following>(std::chrono::microseconds patience)>;

/// The collective operations of one rank. All tensors are flat and on the staging's device, and the staging's
/// stream is the current one. An operation queues its work there and returns when the last of it is queued.
/// outputs[r] receives what rank r sends; inputs[r] goes to rank r. All operations throw PeerFailed and
/// c10::Error. For one thread.
class Transport {
  public:
    virtual ~Transport() = default;

    /// Returns whether all_reduce() itself waits for the events of each piece before it reads the piece. If
    /// not, and before every other operation, the group makes the staging's stream wait for all events.
    virtual bool waits_for_pieces() const noexcept { return false; }

    virtual void barrier(const Operation& operation, Staging& staging) = 0;
    /// ready: a list of events for each piece of the tensor, or empty if there is nothing left to wait for.
    virtual void all_reduce(const Operation& operation, Staging& staging, const at::Tensor& tensor,
                            const Reduction& reduction, const Ready& ready) = 0;
    /// Afterwards the values are unspecified on all ranks but the root.
    virtual void reduce(const Operation& operation, Staging& staging, const at::Tensor& tensor,
                        const Reduction& reduction, int root) = 0;
    virtual void broadcast(const Operation& operation, Staging& staging, const at::Tensor& tensor,
                           int root) = 0;
    /// The sizes of the ranks' tensors may differ; outputs[r] has the size of rank r's.
    virtual void all_gather(const Operation& operation, Staging& staging, Tensors outputs,
                            const at::Tensor& tensor) = 0;
    /// Only the root has outputs in gather() and inputs in scatter(); they are empty on the other ranks.
    virtual void gather(const Operation& operation, Staging& staging, Tensors outputs,
                        const at::Tensor& tensor, int root) = 0;
    virtual void scatter(const Operation& operation, Staging& staging, const at::Tensor& output,
                         Tensors inputs, int root) = 0;
    /// Rank r gets the reduction of all inputs[r]. The sizes may depend on r, but not on the rank that calls.
    virtual void reduce_scatter(const Operation& operation, Staging& staging, const at::Tensor& output,
                                Tensors inputs, const Reduction& reduction) = 0;
    virtual void all_to_all(const Operation& operation, Staging& staging, Tensors outputs,
                            Tensors inputs) = 0;

    /// Tells the other ranks why this one gives up, if they cannot find out themselves. No operation may
    /// follow.
    virtual void fail(const std::string& sentence) noexcept = 0;
};

} // namespace rvk::distributed
