#pragma once
/// The placeholders that remedies may use; knowledge/README.md explains them. The keys of conditions are in
/// conditions/keys.h.

#include <string_view>

namespace rekindle::doctor {

/// Whether commands of remedies may contain {name}.
bool is_remedy_placeholder(std::string_view name) noexcept;

} // namespace rekindle::doctor
