#pragma once
/// Keeps different instruments apart.

#include <rekindle/market/bars.h>
#include <rekindle/market/contract_identity.h>
#include <rekindle/market/rolls.h>

#include <cstddef>
#include <string_view>

namespace rekindle::market {

/// Letters of the delivery months, January to December.
inline constexpr std::string_view month_letters = "FGHJKMNQUVXZ";

/// Throws Error (usage) naming both contracts if they belong to different instruments.
void require_one_instrument(const BarMetadata& metadata);

/// Throws Error (usage) naming both contracts if a roll leads to a price that no other contract of the same
/// instrument could have. `first` is the first bar of the session that holds the new contract.
void require_near_prices(const BarTable& bars, std::size_t first, const Roll& roll);

} // namespace rekindle::market
