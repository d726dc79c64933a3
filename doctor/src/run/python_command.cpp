/// Commands that run a Python program.

#include "probes/find_program.h"

#include <rekindle/base/text.h>
#include <rekindle/doctor/watched_run.h>

#include <array>
#include <filesystem>
#include <fstream>

namespace rekindle::doctor {

namespace {

bool is_interpreter(std::string_view path) {
    const std::string name = std::filesystem::path(path).filename().string();
    return name.starts_with("python") && name.find_first_not_of("python.0123456789t") == std::string::npos;
}

/// The interpreter in "#!/venv/bin/python3" or "#!/usr/bin/env python3".
std::string interpreter_in_first_line(const std::string& program) {
    std::ifstream file(program, std::ios::binary);
    std::array<char, 512> buffer{};
    file.read(buffer.data(), buffer.size());
    std::string_view line(buffer.data(), static_cast<std::size_t>(file.gcount()));
    line = line.substr(0, line.find('\n'));
    if (!line.starts_with("#!"))
        return "";
    std::string found;
    for (const std::string_view word : split(trim(line.substr(2)), ' '))
        if (is_interpreter(word)) {
            found = find_program(word);
            break;
        }
    return found;
}

/// The index of the script, -m or -c among the words of an interpreter's command; command.size() if there is
/// none.
std::size_t position_of_program(const std::vector<std::string>& command) {
    std::size_t i = 1;
    for (; i < command.size(); ++i) {
        const std::string& word = command[i];
        if (!word.starts_with('-') || word == "-" || word.starts_with("-m") || word.starts_with("-c"))
            return i;
        i += word == "-W" || word == "-X" || word == "--check-hash-based-pycs";
    }
    return command.size();
}

} // namespace

std::string interpreter_of(const std::vector<std::string>& command) {
    if (command.empty())
        return "";
    const std::string program = find_program(command.front());
    return is_interpreter(program) ? program : interpreter_in_first_line(program);
}

std::vector<std::string> command_on_vulkan(const std::vector<std::string>& command) {
    const std::string interpreter = interpreter_of(command);
    if (interpreter.empty())
        return {};
    const std::string program = find_program(command.front());
    const bool direct = is_interpreter(program);
    const std::size_t first = direct ? position_of_program(command) : 1;
    if (direct && first >= command.size())
        return {};
    std::vector<std::string> words{direct ? command.front() : interpreter};
    const auto begin = command.begin();
    if (direct)
        words.insert(words.end(), begin + 1, begin + static_cast<std::ptrdiff_t>(first));
    words.insert(words.end(), {"-m", "torch_rvk.run"});
    if (!direct)
        words.push_back(program);
    words.insert(words.end(), begin + static_cast<std::ptrdiff_t>(first), command.end());
    return words;
}

} // namespace rekindle::doctor
