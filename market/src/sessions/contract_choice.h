#pragma once
/// Chooses the contract that each session holds.

#include <rekindle/market/bars.h>
#include <rekindle/market/rolls.h>
#include <rekindle/market/session.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rekindle::market {

/// Figures of one contract inside one session.
struct ContractVolume {
    std::uint64_t bars = 0;
    std::int64_t volume = 0;
};

/// Bars and volume of the contracts traded in each session.
class VolumeTable {
  public:
    VolumeTable(const BarTable& bars, const std::vector<Session>& days);
    /// Zeros for a contract without a bar.
    ContractVolume at(std::size_t day, std::uint16_t contract) const noexcept;
    /// Contracts with a bar in the session, ascending.
    std::span<const std::uint16_t> traded(std::size_t day) const noexcept;

  private:
    std::vector<std::size_t> begins_; ///< start of each day in the next two vectors, and their length
    std::vector<std::uint16_t> contracts_;
    std::vector<ContractVolume> cells_;
};

/// The held contract of a day and why it was chosen; `reason` is empty if the contract stays the same.
struct HeldContract {
    std::uint16_t contract = mixed_contracts; ///< mixed_contracts: no allowed contract has a bar here
    std::string reason;
};

/// One entry per day. The decision for a day uses no later days. Throws Error (usage) if the method cannot be
/// used with these contracts.
std::vector<HeldContract> choose_contracts(const BarTable& bars, const std::vector<Session>& days,
                                           RollMethod method);

/// Measures the price of `to` minus the price of `from` for the roll that takes effect with bar index
/// `first`. Sets gap_ticks, gap_known_at and gap_distance of the roll.
void measure_gap(const BarTable& bars, std::size_t first, Roll& roll);

} // namespace rekindle::market
