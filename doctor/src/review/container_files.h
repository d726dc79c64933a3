#pragma once
/// Dockerfiles and compose files, whole or quoted in a document.

#include "found.h"

#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

enum class ContainerFile { none, dockerfile, compose };

/// What the document is or, for compose, contains.
ContainerFile container_file_in(std::string_view document);

/// The document with "ENV NAME value" and "NAME: value" written as "NAME=value", so that they are read as
/// settings. Every other byte keeps its place.
std::string with_assignments(std::string_view document, ContainerFile kind);

/// Marks what the services of a compose file get of the GPU: devices, reservations, shared memory.
void mark_services(std::string_view document, std::vector<Found>& found);

} // namespace rekindle::doctor
