#pragma once
/// The data of slangc's -reflection-json about a family.

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
    std::string type; ///< in C++: "std::uint64_t"
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
    std::uint32_t parameter_bytes = 0; ///< size of the block, including its tail padding
    std::vector<ReflectedConstant> constants;
    std::vector<ReflectedEntry> entries;
};

/// The largest push-constant block that every device supports.
inline constexpr std::uint32_t maximum_parameter_bytes = 128;

/// Throws Refused when the text is not slangc's reflection output, when the block is larger than
/// maximum_parameter_bytes or holds anything but numbers and addresses, and when a constant is not a uint.
Reflection parse_reflection(std::string_view json);
Reflection read_reflection(const std::filesystem::path& file);

} // namespace rekindle::kernels::generator
