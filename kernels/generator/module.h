#pragma once
/// Checks and strips SPIR-V modules (SPIR-V 1.5 specification, section 2.3).

#include <rekindle/kernels/kernel.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace rekindle::kernels::generator {

/// Why the build rejects a module or its description, in words for the kernel's author.
class Refused : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

using Words = std::vector<std::uint32_t>;

/// Reads a module. Throws Refused when it is not SPIR-V in this machine's byte order or its instructions
/// do not end where the file ends.
Words read_module(const std::filesystem::path& file);
/// The same for words in memory.
void check_structure(std::span<const std::uint32_t> module);

/// The module without debug information: names, strings, source and lines. Debian 12's drivers and
/// validator do not know Slang's source language.
Words stripped(std::span<const std::uint32_t> module);

/// The functions (by OpName if there is one, else by id) that copy a struct with OpCopyLogical.
std::vector<std::string> functions_with_logical_copies(std::span<const std::uint32_t> module);

/// Features beyond the minimum that the module needs, from its capabilities and from the types that it loads
/// and stores by address. Throws Refused if the module has a capability that the generator does not know, and
/// names it.
Features needed_features(std::span<const std::uint32_t> module);

/// All features that a capability of some module can require.
Features features_of_capabilities() noexcept;

/// The initial values of the 32-bit specialization constants by id. Throws Refused for constants of
/// another width.
std::map<std::uint32_t, std::uint32_t> constant_values(std::span<const std::uint32_t> module);

/// Names of the compute entry points.
std::vector<std::string> entry_points(std::span<const std::uint32_t> module);

} // namespace rekindle::kernels::generator
