#pragma once
/// A knowledge folder for one test.

#include <rekindle/doctor/knowledge.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <temporary_folder.h>

namespace rekindle::doctor {

/// Path below the folder, and content.
struct KnowledgeFile {
    std::string name;
    std::string content;
};

class KnowledgeFolder {
  public:
    KnowledgeFolder(std::initializer_list<KnowledgeFile> files) {
        for (const auto& [name, content] : files) {
            const std::filesystem::path file = folder_ / name;
            std::filesystem::create_directories(file.parent_path());
            std::ofstream(file, std::ios::binary) << content;
        }
    }

    const std::filesystem::path& path() const noexcept { return folder_.path(); }

  private:
    test::TemporaryFolder folder_;
};

} // namespace rekindle::doctor
