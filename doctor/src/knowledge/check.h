#pragma once
/// The mistakes of a knowledge folder with their places, before they become lines of text.

#include "mistakes.h"

#include <filesystem>

namespace rekindle::doctor {

Mistakes find_mistakes(const std::filesystem::path& folder);

} // namespace rekindle::doctor
