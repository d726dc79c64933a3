#include "process.h"

#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

namespace rekindle::cli {

namespace {

std::string environment_value(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

[[noreturn]] void become(const std::vector<std::string>& words, const Surroundings& surroundings,
                         const std::string& output, const std::string& errors) {
    const int in = open("/dev/null", O_RDONLY);
    const int out = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int err = open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (in < 0 || out < 0 || err < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
        _exit(126);
    if (!surroundings.folder.empty() && chdir(surroundings.folder.c_str()) != 0)
        _exit(126);
    std::vector<std::string> variables{"PATH=" + environment_value("PATH")};
    if (!surroundings.environment.contains("HOME"))
        variables.push_back("HOME=/nonexistent");
    for (const auto& [name, value] : surroundings.environment)
        variables.push_back(name + "=" + value);
    std::vector<char*> arguments, environment;
    for (const std::string& word : words)
        arguments.push_back(const_cast<char*>(word.c_str())); // NOLINT(cppcoreguidelines-pro-type-const-cast)
    for (const std::string& variable : variables)
        environment.push_back(
            const_cast<char*>(variable.c_str())); // NOLINT(cppcoreguidelines-pro-type-const-cast)
    arguments.push_back(nullptr);
    environment.push_back(nullptr);
    execvpe(arguments[0], arguments.data(), environment.data());
    _exit(127);
}

} // namespace

TemporaryFolder::TemporaryFolder()
    : path_((std::filesystem::temp_directory_path() / "rekindle-cli-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr)
        throw Error("cannot create a temporary folder");
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::file(const std::string& name, const std::string& content) const {
    write_file_atomically(path_ + "/" + name, content);
    return path_ + "/" + name;
}

Finished run_process(const std::vector<std::string>& words, const Surroundings& surroundings) {
    const TemporaryFolder folder;
    const std::string output = folder.path() + "/output";
    const std::string errors = folder.path() + "/errors";
    const pid_t child = fork();
    if (child == 0)
        become(words, surroundings, output, errors);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        throw Error("cannot start a process");
    return {.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
            .output = read_file(output),
            .errors = read_file(errors)};
}

Finished rekindle(std::vector<std::string> arguments, const Surroundings& surroundings) {
    arguments.insert(arguments.begin(), REKINDLE_PROGRAM);
    return run_process(arguments, surroundings);
}

bool is_installed(const std::string& program) {
    return run_process({"sh", "-c", "command -v " + program}).status == 0;
}

} // namespace rekindle::cli
