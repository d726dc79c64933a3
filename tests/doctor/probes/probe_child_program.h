#pragma once
/// The program next to the test program that acts as the child.

#include "probes/child_process.h"

#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>

namespace rekindle::test {

inline std::filesystem::path folder_of_tests() {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

inline std::string probe_child() {
    return (folder_of_tests() / "rekindle_doctor_probe_child").string();
}

inline doctor::ChildCommand misbehaving(std::initializer_list<std::string> how,
                                        std::chrono::milliseconds deadline = std::chrono::seconds(5)) {
    doctor::ChildCommand command;
    command.program = probe_child();
    command.arguments = {"misbehave"};
    command.arguments.insert(command.arguments.end(), how);
    command.deadline = deadline;
    return command;
}

/// Sets an environment variable of this process while the object lives.
class ScopedVariable {
  public:
    ScopedVariable(std::string name, const std::string& value) : name_(std::move(name)) {
        if (const char* before = std::getenv(name_.c_str()))
            before_ = before;
        ::setenv(name_.c_str(), value.c_str(), 1);
    }
    ScopedVariable(const ScopedVariable&) = delete;
    ScopedVariable& operator=(const ScopedVariable&) = delete;
    ~ScopedVariable() {
        if (before_)
            ::setenv(name_.c_str(), before_->c_str(), 1);
        else
            ::unsetenv(name_.c_str());
    }

  private:
    std::string name_;
    std::optional<std::string> before_;
};

} // namespace rekindle::test
