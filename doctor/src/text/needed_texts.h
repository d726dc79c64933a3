#pragma once
/// The literal texts that a pattern needs: a line without them cannot match it.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// Groups of texts: a line can match only if it contains at least one text of every group. Texts are
/// lowercase, and the case of the line's ASCII letters does not matter. No group: any line may match.
using NeededTexts = std::vector<std::vector<std::string>>;

/// Analyzes a pattern with RE2; it is case-insensitive unless it says otherwise. Texts have at
/// least three bytes where the pattern allows it. Empty when the pattern is invalid.
std::optional<NeededTexts> needed_texts(std::string_view pattern);

} // namespace rekindle::doctor
