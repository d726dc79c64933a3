#pragma once
#include <rekindle/foundation/error.h>

#include <cstddef>
#include <optional>

namespace rekindle::research {

/// Why this many periods are too few for a bootstrap; no value if they are enough.
std::optional<Error> too_few_periods(std::size_t periods, double block_length);

} // namespace rekindle::research
