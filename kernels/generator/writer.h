#pragma once
/// The text that the build compiles, made from the families.

#include "family.h"

#include <filesystem>
#include <span>
#include <string>

namespace rekindle::kernels::generator {

/// <rekindle/kernels/families/FAMILY.h>: the struct of its push-constant block, one TypedKernel per entry. It
/// changes with its family alone, so that another kernel compiles nothing again that does not launch it.
std::string family_header(const Family& family);
/// <rekindle/kernels/launchers.h>: all of them.
std::string launchers_header(std::span<const Family> families);
/// The table behind kernels::all(), in the registry's order, and kernels::slang_version().
std::string table_source(std::span<const Family> families, const std::string& slang_version);
/// Assembly that embeds folder/<family>.spv of each family.
std::string modules_assembly(std::span<const Family> families, const std::filesystem::path& folder);

/// "PopulationParameters" of "population", "TiledMatmulParameters" of "tiled_matmul".
std::string parameters_name(const std::string& family);

/// Leaves a file of the same content as it is, so that nothing is compiled again for it.
void write_file(const std::filesystem::path& file, std::string_view content);

} // namespace rekindle::kernels::generator
