#pragma once
/// Text that is safe inside HTML and SVG, and numbers of a drawing.

#include <string>
#include <string_view>

namespace rekindle::trainer {

/// For element content and quoted attributes. Control characters that XML forbids become U+FFFD.
std::string escaped(std::string_view text);
/// A coordinate with at most two decimals.
std::string coordinate(double value);

} // namespace rekindle::trainer
