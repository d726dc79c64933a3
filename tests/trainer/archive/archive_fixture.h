#pragma once
/// Shared by the archive tests: golden files, a scratch folder, deterministic damage.

#include <rekindle/base/file.h>
#include <rekindle/base/philox.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace rekindle::trainer::test {

inline std::filesystem::path golden(const std::string& name) {
    return std::filesystem::path(REKINDLE_TEST_DATA) / "archive" / name;
}

/// The value that make_golden.py gives to element i of the k-th tensor of a model.
inline float golden_value(std::size_t k, std::size_t i) {
    return static_cast<float>(static_cast<int>((7 * i + 13 * k) % 255) - 127) / 128.0F;
}

/// An empty folder for this test, removed at its end.
class ScratchFolder {
  public:
    ScratchFolder() {
        const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
        path_ = std::filesystem::temp_directory_path() /
                ("rekindle_" + std::string(info->test_suite_name()) + "_" + info->name());
        std::filesystem::remove_all(path_);
        std::filesystem::create_directories(path_);
    }
    ~ScratchFolder() { std::filesystem::remove_all(path_); }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;
    std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

  private:
    std::filesystem::path path_;
};

} // namespace rekindle::trainer::test
