#pragma once
/// How the data of collectives travels between the ranks of a group.

#include "links.h"
#include "reduction.h"
#include "staging.h"

#include <span>
#include <string>

namespace rvk::distributed {

using Tensors = std::span<const at::Tensor>;

/// The collective operations of one rank. All tensors are flat and on the staging's device, and the staging's
/// stream is the current one. An operation queues its work there and returns when the last of it is queued.
/// outputs[r] receives what rank r sends; inputs[r] goes to rank r. All operations throw PeerFailed and
/// c10::Error. For one thread.
class Transport {
  public:
    virtual ~Transport() = default;

    virtual void barrier(const Operation& operation, Staging& staging) = 0;
    virtual void all_reduce(const Operation& operation, Staging& staging, const at::Tensor& tensor,
                            const Reduction& reduction) = 0;
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
