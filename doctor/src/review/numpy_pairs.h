#pragma once
/// NumPy beside a torch whose wheels were compiled for another NumPy.

#include "found.h"

#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// Marks a requirement of NumPy that the torch of the same requirements, Dockerfile stage, service, code
/// block or command cannot use. The last requirement of each counts, as it does for pip.
void mark_numpy_pairs(std::string_view document, const Knowledge& knowledge, std::vector<Found>& found);

} // namespace rekindle::doctor
