#pragma once
/// The mistakes of a knowledge folder with their locations, before they are formatted as text.

#include "mistakes.h"

#include <filesystem>

namespace rekindle::doctor {

Mistakes find_mistakes(const std::filesystem::path& folder);

} // namespace rekindle::doctor
