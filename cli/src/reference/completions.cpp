#include <rekindle/base/error.h>
#include <rekindle/cli/reference.h>

#include <fmt/format.h>

#include <algorithm>

namespace rekindle::cli {

namespace {

std::string join(const std::vector<std::string>& words, std::string_view separator = " ") {
    return fmt::format("{}", fmt::join(words, separator));
}

/// Names and aliases of the commands.
std::vector<std::string> command_names() {
    std::vector<std::string> names;
    for (const CommandSpec& command : command_table()) {
        if (!command.hidden)
            names.emplace_back(command.name);
        names.insert(names.end(), command.aliases.begin(), command.aliases.end());
    }
    return names;
}

std::vector<std::string> long_names(const CommandSpec& command) {
    std::vector<std::string> names;
    for (const OptionSpec* option : options_of(command.name))
        names.push_back("--" + std::string(option->name));
    return names;
}

/// The patterns of a command's name in a shell's case: "volume-profile|profile".
std::string command_pattern(const CommandSpec& command) {
    std::string pattern(command.name);
    for (const std::string_view alias : command.aliases)
        pattern += "|" + std::string(alias);
    return pattern;
}

bool takes_path(const OptionSpec& option) {
    return option.kind == ValueKind::path || option.kind == ValueKind::path_list;
}

/// Words that may stand for the value.
std::vector<std::string> value_words(const OptionSpec& option) {
    std::vector<std::string> words(option.words.begin(), option.words.end());
    std::erase(words, "gpu:N");
    return words;
}

std::vector<std::string> positional_words(const CommandSpec& command) {
    if (command.name == "help")
        return command_names();
    return {command.positional_words.begin(), command.positional_words.end()};
}

std::string spellings(const OptionSpec& option, std::string_view separator) {
    std::vector<std::string> all{"--" + std::string(option.name)};
    all.insert(all.end(), option.aliases.begin(), option.aliases.end());
    return join(all, separator);
}

std::string bash_script() {
    std::string script = "# bash completion of rekindle; made by: rekindle completions bash\n"
                         "_rekindle() {\n"
                         "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
                         "  COMPREPLY=()\n"
                         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n";
    script +=
        fmt::format("    COMPREPLY=($(compgen -W '{} --help --version' -- \"$current\"))\n    return\n  fi\n",
                    join(command_names()));
    script += "  case ${COMP_WORDS[1]} in\n";
    for (const CommandSpec& command : command_table()) {
        script += fmt::format("    {})\n      case $previous in\n", command_pattern(command));
        for (const OptionSpec* option : options_of(command.name)) {
            const std::vector<std::string> words = value_words(*option);
            if (takes_path(*option))
                script += fmt::format("        {}) COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n",
                                      spellings(*option, "|"));
            else if (!words.empty())
                script +=
                    fmt::format("        {}) COMPREPLY=($(compgen -W '{}' -- \"$current\")); return ;;\n",
                                spellings(*option, "|"), join(words));
            else if (option->kind != ValueKind::flag)
                script += fmt::format("        {}) return ;;\n", spellings(*option, "|"));
        }
        script +=
            fmt::format("      esac\n      case $current in\n        -*) COMPREPLY=($(compgen -W '{}' -- "
                        "\"$current\")); return ;;\n      esac\n",
                        join(long_names(command)));
        const std::vector<std::string> words = positional_words(command);
        if (!words.empty())
            script += fmt::format("      COMPREPLY=($(compgen -W '{}' -- \"$current\"))\n", join(words));
        else if (!command.positional.empty())
            script += "      COMPREPLY=($(compgen -f -- \"$current\"))\n";
        script += "      ;;\n";
    }
    return script + "  esac\n}\ncomplete -o filenames -F _rekindle rekindle\n";
}

/// Text inside single quotes of a shell, without what has a meaning in zsh's specifications.
std::string zsh_text(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == '\'')
            result += "'\\''";
        else if (c == '[' || c == ']' || c == ':' || c == '\\')
            result += std::string("\\") + c;
        else
            result += c;
    }
    return result;
}

std::string zsh_action(const OptionSpec& option) {
    if (option.kind == ValueKind::flag)
        return "";
    std::string message = zsh_text(option.value_name);
    if (takes_path(option))
        return ":" + message + ":_files";
    const std::vector<std::string> words = value_words(option);
    return ":" + message + ":" + (words.empty() ? " " : "(" + join(words) + ")");
}

std::string zsh_script() {
    std::string script =
        "#compdef rekindle\n# zsh completion of rekindle; made by: rekindle completions zsh\n"
        "_rekindle() {\n  local -a commands\n  commands=(\n";
    for (const CommandSpec& command : command_table()) {
        std::vector<std::string> names(command.aliases.begin(), command.aliases.end());
        if (!command.hidden)
            names.insert(names.begin(), std::string(command.name));
        for (const std::string& name : names)
            script += fmt::format("    '{}:{}'\n", name, zsh_text(command.brief));
    }
    script += "  )\n  if (( CURRENT == 2 )); then\n    _describe 'command' commands\n    return\n  fi\n"
              "  local command=${words[2]}\n  shift words\n  (( CURRENT-- ))\n  case $command in\n";
    for (const CommandSpec& command : command_table()) {
        script += fmt::format("    {})\n      _arguments -S", command_pattern(command));
        for (const OptionSpec* option : options_of(command.name)) {
            std::vector<std::string> names{"--" + std::string(option->name)};
            names.insert(names.end(), option->aliases.begin(), option->aliases.end());
            for (const std::string& name : names)
                script +=
                    fmt::format(" \\\n        '{}{}[{}]{}'", option->kind == ValueKind::path_list ? "*" : "",
                                name, zsh_text(option->brief), zsh_action(*option));
        }
        const std::vector<std::string> words = positional_words(command);
        if (!words.empty())
            script += fmt::format(" \\\n        '1:{}:({})'", zsh_text(command.positional), join(words));
        else if (!command.positional.empty())
            script += fmt::format(" \\\n        '*:{}:_files'", zsh_text(command.positional));
        script += "\n      ;;\n";
    }
    return script +
           "  esac\n}\n"
           "if [ \"$funcstack[1]\" = _rekindle ]; then\n  _rekindle \"$@\"\nelse\n  compdef _rekindle "
           "rekindle\nfi\n";
}

std::string fish_text(std::string_view text) {
    std::string result;
    for (const char c : text)
        result += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    return "'" + result + "'";
}

std::string fish_option(const OptionSpec& option, const std::string& condition) {
    std::string line = fmt::format("complete -c rekindle -n '{}' -l {}", condition, option.name);
    for (const std::string_view alias : option.aliases)
        line += fmt::format(" -{} {}", alias.size() == 2 ? "s" : "o", alias.substr(1));
    const std::vector<std::string> words = value_words(option);
    if (takes_path(option))
        line += " -r -F";
    else if (!words.empty())
        line += " -x -a " + fish_text(join(words));
    else if (option.kind != ValueKind::flag)
        line += " -x";
    return line + " -d " + fish_text(option.brief) + "\n";
}

std::string fish_script() {
    std::string script =
        "# fish completion of rekindle; made by: rekindle completions fish\ncomplete -c rekindle -f\n";
    for (const CommandSpec& command : command_table()) {
        std::vector<std::string> names(command.aliases.begin(), command.aliases.end());
        if (!command.hidden)
            names.insert(names.begin(), std::string(command.name));
        for (const std::string& name : names)
            script += fmt::format("complete -c rekindle -n __fish_use_subcommand -a {} -d {}\n", name,
                                  fish_text(command.brief));
    }
    for (const CommandSpec& command : command_table()) {
        std::vector<std::string> names(command.aliases.begin(), command.aliases.end());
        names.emplace_back(command.name);
        const std::string condition = "__fish_seen_subcommand_from " + join(names);
        for (const OptionSpec* option : options_of(command.name))
            script += fish_option(*option, condition);
        const std::vector<std::string> words = positional_words(command);
        if (!words.empty())
            script +=
                fmt::format("complete -c rekindle -n '{}' -x -a {}\n", condition, fish_text(join(words)));
        else if (!command.positional.empty())
            script += fmt::format("complete -c rekindle -n '{}' -F\n", condition);
    }
    return script;
}

} // namespace

std::string completion_script(std::string_view shell) {
    if (shell == "bash")
        return bash_script();
    if (shell == "zsh")
        return zsh_script();
    if (shell == "fish")
        return fish_script();
    throw usage_error(fmt::format("no completions for \"{}\"", shell)).expected("bash, zsh or fish");
}

} // namespace rekindle::cli
