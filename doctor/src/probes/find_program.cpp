#include "probes/find_program.h"

#include <rekindle/base/text.h>

#include <cstdlib>
#include <filesystem>
#include <unistd.h>

namespace rekindle::doctor {

namespace {

bool is_program(const std::string& path) {
    std::error_code error;
    return std::filesystem::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

} // namespace

std::string find_program(std::string_view name) {
    if (name.find('/') != std::string_view::npos)
        return is_program(std::string(name)) ? std::string(name) : "";
    const char* path = std::getenv("PATH"); // NOLINT(concurrency-mt-unsafe): nothing here changes it
    for (const std::string_view folder : split(path == nullptr ? "/usr/bin:/bin" : path, ':'))
        if (const std::string candidate =
                std::string(folder.empty() ? "." : folder) + "/" + std::string(name);
            is_program(candidate))
            return candidate;
    return "";
}

} // namespace rekindle::doctor
