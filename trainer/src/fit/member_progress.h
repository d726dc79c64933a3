#pragma once
/// The consequences of an epoch: which networks continue to train, which epoch is the best of each, and which
/// network is the best of all. Pure functions of MemberState.

#include <rekindle/trainer/checkpoint.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace rekindle::trainer {

/// Decides which networks continue to train. Thread-safe.
class EarlyStopping {
  public:
    /// `patience`: epochs without improvement after which a network stops; 0: it never does.
    explicit EarlyStopping(std::int64_t patience) noexcept : patience_(patience) {}

    /// Neither stopped nor diverged.
    bool trains(const MemberState& member) const noexcept;
    bool none_trains(std::span<const MemberState> members) const noexcept;

  private:
    std::int64_t patience_;
};

std::size_t count_diverged(std::span<const MemberState> members) noexcept;

/// Adds epoch `epoch` (from 1) to the member's history and updates its best epoch and its epochs without
/// improvement. True when its validation loss is below that of every earlier epoch: the caller then stores
/// the weights in MemberState::best_values.
bool add_epoch(MemberState& member, std::int64_t epoch, const MemberEpoch& figures);

/// The best member after `epoch` (from 1), if it became the best or reached a new best loss in that epoch;
/// the first of equal ones. `trained`: the members that trained in the epoch, in order; `leader`: the best
/// member before it.
std::optional<std::size_t> new_leader(std::span<const MemberState> members, std::size_t leader,
                                      std::span<const std::size_t> trained, std::int64_t epoch);

} // namespace rekindle::trainer
