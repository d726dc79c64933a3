#pragma once
/// Reads Dockerfiles, and compose files that are a whole document or quoted in one.

#include "found.h"

#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

enum class ContainerFile { none, dockerfile, compose };

/// Whether the document is a Dockerfile, or is or contains a compose file.
ContainerFile container_file_in(std::string_view document);

/// Rewrites "ENV NAME value" and "NAME: value" to "NAME=value", the form in which the review recognizes
/// settings. The length and all other bytes stay the same.
std::string with_assignments(std::string_view document, ContainerFile kind);

/// Judges whether each service of a compose file gets the devices and the shared memory that its GPU needs.
void mark_services(std::string_view document, std::vector<Found>& found);

} // namespace rekindle::doctor
