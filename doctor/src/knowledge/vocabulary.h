#pragma once
/// The placeholders that remedies may use; knowledge/README.md explains them. The keys of conditions are in
/// conditions/keys.h.

#include <span>
#include <string_view>

namespace rekindle::doctor {

/// A {name} that commands of remedies may contain, and what the plan replaces it with.
struct Placeholder {
    std::string_view name;
    std::string_view meaning;
};
std::span<const Placeholder> remedy_placeholders() noexcept;
bool is_remedy_placeholder(std::string_view name) noexcept;

} // namespace rekindle::doctor
