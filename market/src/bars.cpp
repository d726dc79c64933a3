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
    const auto part = [&](auto column) { return column.empty() ? column : column.subspan(first, count); };
    return {part(time),   part(open),     part(high), part(low),        part(close),
            part(volume), part(contract), part(vix),  part(bid_volume), part(ask_volume)};
}

BarColumns BarBuffer::columns() const noexcept {
    return {time, open, high, low, close, volume, contract, vix, bid_volume, ask_volume};
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
