#pragma once
/// What slangc's -reflection-json says of a family.

#include "module.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::kernels::generator {

/// A field of the push-constant block.
struct Field {
    std::string name;
    std::string type; ///< of C++: "std::uint64_t"
    std::uint32_t offset, bytes;
};

struct ReflectedConstant {
    std::string name;
    std::uint32_t id;
};

struct ReflectedEntry {
    std::string name;
    std::uint32_t threads[3];
};

struct Reflection {
    std::vector<Field> fields;         ///< by offset
    std::uint32_t parameter_bytes = 0; ///< of the block, its tail padding included
    std::vector<ReflectedConstant> constants;
    std::vector<ReflectedEntry> entries;
};

/// The largest push-constant block that every device takes.
inline constexpr std::uint32_t maximum_parameter_bytes = 128;

/// Throws Refused when the text is not what slangc writes, when the block is larger than
/// maximum_parameter_bytes or holds anything but numbers and addresses, and when a constant is no uint.
Reflection parse_reflection(std::string_view json);
Reflection read_reflection(const std::filesystem::path& file);

} // namespace rekindle::kernels::generator
