#include "vocabulary.h"

#include <array>

namespace rekindle::doctor {
namespace {

constexpr std::array<Placeholder, 1> placeholders{{
    {"python", "the Python that trains"},
}};

} // namespace

std::span<const Placeholder> remedy_placeholders() noexcept {
    return placeholders;
}

} // namespace rekindle::doctor
