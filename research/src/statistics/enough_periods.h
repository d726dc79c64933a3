#pragma once
#include <rekindle/base/error.h>

#include <cstddef>
#include <optional>

namespace rekindle::research {

/// Why a bootstrap of so many periods says nothing; empty if it does.
std::optional<Error> too_few_periods(std::size_t periods, double block_length);

} // namespace rekindle::research
