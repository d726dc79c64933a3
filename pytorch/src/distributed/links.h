#pragma once
/// The connections of a group's ranks on one host: a socket for each pair of ranks, and shared memory that
/// all of them map.
///
/// The memory of each rank has four slots, which rounds use in turn. In a round each rank fills its slot,
/// sends a message to the others, waits for their messages, and starts to read their slots. It sends its
/// message only after its reads of the round before the last have finished. So after the messages of round n
/// have arrived, nobody reads the slots of round n - 2, and the slots of rounds n + 1 and n + 2 can be
/// filled. Waiting blocks in the kernel. The sockets of a process that dies are closed, which wakes the
/// others at once.

#include "staging.h"

#include <ATen/core/Tensor.h>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rvk::distributed {

constexpr std::int64_t slots = 4;
/// A rank may have filled the slots of this many rounds that are not over, and may still be reading the slots
/// of this many earlier ones.
constexpr std::size_t rounds_ahead = slots / 2;
/// Bytes of each rank's shared memory.
constexpr std::int64_t shared_bytes = slots * largest_piece;

/// A collective operation: its description for error messages, and its deadline.
struct Operation {
    std::string what;
    double timeout; ///< seconds
    std::chrono::steady_clock::time_point end;
};

/// A file descriptor that its owner closes.
class Descriptor {
  public:
    explicit Descriptor(int number = -1) noexcept : number_(number) {}
    Descriptor(Descriptor&& other) noexcept;
    Descriptor& operator=(Descriptor&& other) noexcept;
    ~Descriptor();
    int get() const noexcept { return number_; }

  private:
    int number_;
};

/// Only the group's thread may call the methods.
class Links {
  public:
    /// peers: the connected SOCK_SEQPACKET sockets by rank; that of this rank is unused. memories: the shared
    /// memories of all ranks, as flat host tensors of bytes. ranks: the number of each rank in the default
    /// group, for messages.
    Links(int rank, std::vector<Descriptor> peers, std::vector<at::Tensor> memories,
          std::vector<std::int64_t> ranks);

    int rank() const noexcept { return rank_; }
    int size() const noexcept { return static_cast<int>(peers_.size()); }
    std::span<const at::Tensor> memories() const noexcept { return memories_; }

    /// The offset of the slot of this round, or of the round `ahead` rounds later, in each rank's memory, in
    /// bytes.
    std::int64_t slot(std::size_t ahead = 0) const noexcept;

    /// Announces that this rank's slot is filled, and waits for all others. In the first round of an
    /// operation, all ranks must call the same one. Throws PeerFailed.
    void meet(const Operation& operation, bool first);
    /// Ends the round. Call it after this rank has started to read the others' slots.
    void advance() noexcept { ++round_; }

    /// Tells the other ranks why this one gives up, and closes the connections.
    void fail(const std::string& sentence) noexcept;

  private:
    void send(int peer, const std::string& message, const Operation& operation);
    std::string receive(int peer, const Operation& operation, bool first);
    /// Throws the error message that a rank sent before it closed its socket, if any.
    [[noreturn]] void explain(int peer, const Operation& operation);

    const int rank_;
    std::vector<Descriptor> peers_;
    const std::vector<at::Tensor> memories_;
    const std::vector<std::int64_t> ranks_;
    std::int64_t round_ = 0;
};

} // namespace rvk::distributed
