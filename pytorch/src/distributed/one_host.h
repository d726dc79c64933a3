#pragma once
/// Collectives between processes on one host, through shared memory (links.h), which the devices read and
/// write (shared_memory.h).
///
/// Tensors travel in pieces. While a piece is being reduced, the next ones are on their way. Two ranks both
/// reduce everything, which saves exchanging the results; so do more ranks if the tensor is small. Otherwise
/// each rank reduces a part of each piece, and a second round exchanges the parts.

#include "pieces.h"
#include "shared_memory.h"
#include "transport.h"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace rvk::distributed {

class OneHost final : public Transport {
  public:
    OneHost(std::unique_ptr<Links> links, FollowingOf following);

    void barrier(const Operation&, Staging&) override;
    bool waits_for_pieces() const noexcept override { return true; }
    void all_reduce(const Operation&, Staging&, const at::Tensor&, const Reduction&, const Ready&) override;
    void reduce(const Operation&, Staging&, const at::Tensor&, const Reduction&, int root) override;
    void broadcast(const Operation&, Staging&, const at::Tensor&, int root) override;
    void all_gather(const Operation&, Staging&, Tensors outputs, const at::Tensor&) override;
    void gather(const Operation&, Staging&, Tensors outputs, const at::Tensor&, int root) override;
    void scatter(const Operation&, Staging&, const at::Tensor& output, Tensors inputs, int root) override;
    void reduce_scatter(const Operation&, Staging&, const at::Tensor& output, Tensors inputs,
                        const Reduction&) override;
    void all_to_all(const Operation&, Staging&, Tensors outputs, Tensors inputs) override;
    void fail(const std::string& sentence) noexcept override { links_->fail(sentence); }

  private:
    /// What this rank puts into its slot in a round.
    struct Post {
        std::vector<at::Tensor> tensors;
        /// The round that computes the tensors; empty if they exist already.
        std::optional<std::int64_t> after;
        std::vector<runtime::Event> ready = {}; ///< the events to wait for before reading the tensors
    };
    using Posts = std::vector<std::optional<Post>>; ///< an empty post: this rank fills no slot in that round
    /// Called with the number of the round. Empty if this rank reads nothing.
    using Consume = std::function<void(std::int64_t)>;

    /// Runs a round for each post. Calls consume when all ranks have filled their slots; it queues work that
    /// reads them.
    void run_rounds(const Operation& operation, Staging& staging, const Posts& posts, const Consume& consume);
    /// Starts to write what the next call sends first, if that call is queued in time. `own` is the write of
    /// the round that is running; reads: whether this rank reads in that round.
    void begin_following(const Wait& own, DeviceIndex device, bool reads);
    /// What this rank sends in the first round of the call; empty if that is more than one tensor.
    std::optional<at::Tensor> first_post(const Call& call) const;
    Wait write(const std::optional<Post>& post, std::size_t ahead);
    /// Returns a tensor of the device with what is in a rank's slot, `offset` bytes from its start.
    at::Tensor read(int rank, const at::Tensor& like, std::int64_t offset = 0);
    /// Copies to `target` what is in a rank's slot, `offset` bytes from its start. Does nothing if `target`
    /// has no elements.
    void copy(const at::Tensor& target, int rank, std::int64_t offset = 0);

    void reduce_on(const Operation& operation, Staging& staging, const at::Tensor& tensor,
                   const Reduction& reduction, const Ready& ready, std::optional<int> root);
    void all_reduce_in_parts(const Operation& operation, Staging& staging, const at::Tensor& tensor,
                             const Reduction& reduction, const Ready& ready);
    void reduce_part(const at::Tensor& piece, const Reduction& reduction);
    void gather_parts(const at::Tensor& piece);
    /// The first element of the part of a piece that a rank reduces.
    std::int64_t part_begin(const at::Tensor& piece, int rank) const;
    at::Tensor part_of(const at::Tensor& piece, int rank) const;
    void combine(const at::Tensor& own, const std::function<std::int64_t(int rank)>& offset_of,
                 const Reduction& reduction, const at::Tensor& out);
    void gather_rounds(const Operation& operation, Staging& staging, Tensors outputs,
                       const at::Tensor& tensor, std::int64_t most_bytes);
    std::vector<std::vector<std::int64_t>> exchange_sizes(const Operation& operation, Staging& staging,
                                                          Tensors inputs);
    SharedMemory& memory_for(Staging& staging);

    const std::unique_ptr<Links> links_;
    const int rank_, size_;
    std::map<DeviceIndex, std::unique_ptr<SharedMemory>> memories_;
    SharedMemory* memory_ = nullptr; ///< used by the running operation
    std::deque<Wait> reads_;         ///< each waits for the reads of one of the latest rounds
    const FollowingOf following_;
    std::deque<Wait> begun_; ///< the first write of the next operation, if it was started early
};

} // namespace rvk::distributed
