#pragma once
/// Which files make up a knowledge folder.

#include <rekindle/doctor/knowledge.h>

#include <filesystem>
#include <string>
#include <vector>

namespace rekindle::doctor {

/// The *.yaml files below `folder`, relative to it, sorted; includes templates. Links to folders are not
/// followed. Throws usage_error when the folder cannot be read or is far too large.
std::vector<std::string> knowledge_files(const std::filesystem::path& folder);

} // namespace rekindle::doctor
