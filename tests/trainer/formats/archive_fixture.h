#pragma once
/// Shared by the archive tests: golden files and a temporary folder.

#include "temporary_folder.h"

#include <rekindle/base/philox.h>
#include <rekindle/foundation/file.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace rekindle::trainer::fixtures {

inline std::filesystem::path golden(const std::string& name) {
    return std::filesystem::path(REKINDLE_TEST_DATA) / "archive" / name;
}

/// The value that make_golden.py gives to element i of the k-th tensor of a model.
inline float golden_value(std::size_t k, std::size_t i) {
    return static_cast<float>(static_cast<int>((7 * i + 13 * k) % 255) - 127) / 128.0F;
}

} // namespace rekindle::trainer::fixtures
