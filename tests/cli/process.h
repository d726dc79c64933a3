#pragma once
/// Runs programs as a user would.

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::cli {

using Words = std::vector<std::string>;

/// Both, one after the other.
inline Words joined(Words first, const Words& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

inline bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

struct Finished {
    int status = -1; ///< exit status, or 128 + signal
    std::string output;
    std::string errors;
};

struct Surroundings {
    std::string folder{};                             ///< working folder, "" for the test's own
    std::map<std::string, std::string> environment{}; ///< added to PATH and HOME, the only other variables
};

/// The first word is the program. Standard input is empty.
Finished run_process(const std::vector<std::string>& words, const Surroundings& surroundings = {});
/// run_process() with the program under test.
Finished rekindle(std::vector<std::string> arguments, const Surroundings& surroundings = {});
/// Whether a program of this name is in PATH.
bool is_installed(const std::string& program);

/// A folder that is removed with the object.
class TemporaryFolder {
  public:
    TemporaryFolder();
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    const std::string& path() const noexcept { return path_; }
    std::string file(const std::string& name, const std::string& content) const;

  private:
    std::string path_;
};

} // namespace rekindle::cli
