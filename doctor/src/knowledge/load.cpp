#include "load.h"

#include "entries.h"

#include <rekindle/foundation/error.h>

#include <algorithm>
#include <system_error>

namespace rekindle::doctor {
namespace {

constexpr std::size_t folder_entry_limit = 2000;

[[noreturn]] void fail(const Mistakes::Mistake& mistake) {
    throw usage_error(mistake.what)
        .at(mistake.origin.file + ":" + std::to_string(mistake.origin.line))
        .hint("rekindle doctor --check-knowledge FOLDER lists every mistake");
}

} // namespace

std::vector<std::string> knowledge_files(const std::filesystem::path& folder) {
    std::error_code problem;
    std::filesystem::recursive_directory_iterator entry(folder, problem);
    if (problem)
        throw usage_error(problem.message()).at(folder.string());
    std::vector<std::string> files;
    std::size_t seen = 0;
    for (const std::filesystem::recursive_directory_iterator end; entry != end; entry.increment(problem)) {
        if (problem)
            throw usage_error(problem.message()).at(folder.string());
        if (++seen > folder_entry_limit)
            throw usage_error("the folder has more than 2000 files, so it is not a knowledge folder")
                .at(folder.string());
        if (entry->path().extension() == ".yaml")
            files.push_back(entry->path().lexically_relative(folder).generic_string());
    }
    std::sort(files.begin(), files.end());
    return files;
}

Knowledge load_knowledge(const std::filesystem::path& folder) {
    Knowledge knowledge;
    Mistakes mistakes;
    for (const std::string& file : knowledge_files(folder))
        if (!is_template(file))
            read_entries(load_yaml_file(folder / file, file), file, knowledge, mistakes);
    if (!mistakes.empty())
        fail(mistakes.sorted().front());
    return knowledge;
}

} // namespace rekindle::doctor
