#include "between_hosts.h"

#include "failures.h"
#include "python_calls.h"

namespace rvk::distributed {

namespace {

Tensors one(const at::Tensor& tensor) {
    return {&tensor, 1};
}

} // namespace

void BetweenHosts::run(const Operation& operation, Staging& staging, const CallBetweenHosts& call) const {
    const std::string failure = run_in_python(group_, operation, staging, call);
    if (!failure.empty())
        throw PeerFailed(failure);
}

void BetweenHosts::barrier(const Operation& operation, Staging& staging) {
    run(operation, staging, {"barrier", {}, {}, -1, {}});
}
void BetweenHosts::all_reduce(const Operation& operation, Staging& staging, const at::Tensor& tensor,
                              const Reduction& reduction, const Ready& /*ready*/) {
    run(operation, staging, {"all_reduce", one(tensor), {}, -1, reduction});
}
void BetweenHosts::reduce(const Operation& operation, Staging& staging, const at::Tensor& tensor,
                          const Reduction& reduction, int root) {
    run(operation, staging, {"reduce", one(tensor), {}, root, reduction});
}
void BetweenHosts::broadcast(const Operation& operation, Staging& staging, const at::Tensor& tensor,
                             int root) {
    run(operation, staging, {"broadcast", one(tensor), {}, root, {}});
}
void BetweenHosts::all_gather(const Operation& operation, Staging& staging, Tensors outputs,
                              const at::Tensor& tensor) {
    run(operation, staging, {"all_gather", outputs, one(tensor), -1, {}});
}
void BetweenHosts::gather(const Operation& operation, Staging& staging, Tensors outputs,
                          const at::Tensor& tensor, int root) {
    run(operation, staging, {"gather", outputs, one(tensor), root, {}});
}
void BetweenHosts::scatter(const Operation& operation, Staging& staging, const at::Tensor& output,
                           Tensors inputs, int root) {
    run(operation, staging, {"scatter", one(output), inputs, root, {}});
}
void BetweenHosts::reduce_scatter(const Operation& operation, Staging& staging, const at::Tensor& output,
                                  Tensors inputs, const Reduction& reduction) {
    run(operation, staging, {"reduce_scatter", one(output), inputs, -1, reduction});
}
void BetweenHosts::all_to_all(const Operation& operation, Staging& staging, Tensors outputs, Tensors inputs) {
    run(operation, staging, {"all_to_all", outputs, inputs, -1, {}});
}

} // namespace rvk::distributed
