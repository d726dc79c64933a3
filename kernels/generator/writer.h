#pragma once
/// The source text that the build generates from the families and compiles.

#include "family.h"

#include <filesystem>
#include <span>
#include <string>

namespace rekindle::kernels::generator {

/// <rekindle/kernels/families/MODULE.h>: the structs of the specialization constants and of the push-constant
/// block, one TypedKernel per entry, and for kernels with variants an array of what the table says of each.
/// The dtypes of a family share the structs: the header of the first of `families` (all of them) with that
/// family defines them, and those of the others include that header. A header changes only with its family,
/// so that a change to another kernel does not recompile code that does not launch it. Throws Refused if the
/// dtypes' constants or blocks differ.
std::string family_header(const Family& family, std::span<const Family> families);
/// <rekindle/kernels/launchers.h>: includes all of them.
std::string launchers_header(std::span<const Family> families);
/// The table behind kernels::all(), by module and then in the table's order, and kernels::slang_version().
std::string table_source(std::span<const Family> families, const std::string& slang_version);
/// Assembly that embeds folder/<family>.spv of each family.
std::string modules_assembly(std::span<const Family> families, const std::filesystem::path& folder);

/// "PopulationParameters" for "population", "TiledMatmulParameters" for "tiled_matmul"; of all its dtypes.
std::string parameters_name(const std::string& family);
/// "PopulationConstants" for "population"; of all its dtypes.
std::string constants_name(const std::string& family);

/// Does not touch a file that already has this content, so that nothing is recompiled for it.
void write_file(const std::filesystem::path& file, std::string_view content);

} // namespace rekindle::kernels::generator
