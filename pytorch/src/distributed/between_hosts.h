#pragma once
/// Collectives between processes on several hosts, which Python code runs with Gloo
/// (torch_rvk/distributed/between_hosts.py).

#include "transport.h"

#include <cstdint>

namespace rvk::distributed {

struct CallBetweenHosts;

class BetweenHosts final : public Transport {
  public:
    /// group: the group's number (group.h).
    explicit BetweenHosts(std::int64_t group) : group_(group) {}

    void barrier(const Operation&, Staging&) override;
    void all_reduce(const Operation&, Staging&, const at::Tensor&, const Reduction&, const Ready&) override;
    void reduce(const Operation&, Staging&, const at::Tensor&, const Reduction&, int root) override;
    void broadcast(const Operation&, Staging&, const at::Tensor&, int root) override;
    void all_gather(const Operation&, Staging&, Tensors outputs, const at::Tensor&) override;
    void gather(const Operation&, Staging&, Tensors outputs, const at::Tensor&, int root) override;
    void scatter(const Operation&, Staging&, const at::Tensor& output, Tensors inputs, int root) override;
    void reduce_scatter(const Operation&, Staging&, const at::Tensor& output, Tensors inputs,
                        const Reduction&) override;
    void all_to_all(const Operation&, Staging&, Tensors outputs, Tensors inputs) override;
    void fail(const std::string&) noexcept override {} // Gloo fails on the other ranks too

  private:
    void run(const Operation& operation, Staging& staging, const CallBetweenHosts& call) const;

    const std::int64_t group_;
};

} // namespace rvk::distributed
