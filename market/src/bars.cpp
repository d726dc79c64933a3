#include <rekindle/market/bars.h>

#include <cmath>

namespace rekindle::market {

std::int64_t BarMetadata::volume_per_unit() const noexcept {
    std::int64_t power = 1;
    for (int i = 0; i < volume_decimals; ++i)
        power *= 10;
    return power;
}

TickSize BarMetadata::level() const noexcept {
    // A step is a power of ten, so dividing by its inverse rounds only once.
    return tick.points < 1 && !has_tick() ? TickSize{profile_bin / std::round(1 / tick.points)}
                                          : TickSize{level_ticks() * tick.points};
}

BarColumns BarColumns::subspan(std::size_t first, std::size_t count) const {
    return {time.subspan(first, count),     open.subspan(first, count),
            high.subspan(first, count),     low.subspan(first, count),
            close.subspan(first, count),    volume.subspan(first, count),
            contract.subspan(first, count), vix.empty() ? vix : vix.subspan(first, count)};
}

BarColumns BarBuffer::columns() const noexcept {
    return {time, open, high, low, close, volume, contract, vix};
}

BarTable BarBuffer::into_table(BarBuffer buffer, BarMetadata metadata) {
    auto owner = std::make_shared<const BarBuffer>(std::move(buffer));
    const BarColumns columns = owner->columns();
    return BarTable(columns, std::move(metadata), std::move(owner));
}

std::string contract_name(const BarMetadata& metadata, std::uint16_t contract) {
    if (contract == mixed_contracts)
        return "mixed";
    return contract < metadata.contracts.size() ? metadata.contracts[contract] : "";
}

} // namespace rekindle::market
