#include "installs.h"

#include <algorithm>
#include <re2/re2.h>

namespace rekindle::doctor {
namespace {

struct Word {
    std::string_view text;
    std::size_t end = 0; ///< in the command
};

/// Words without quotes, up to the end of the command ("&&", ";", "|").
std::vector<Word> words_of_command(std::string_view command) {
    std::vector<Word> words;
    for (std::size_t at = 0; at < command.size();) {
        const std::size_t begin = command.find_first_not_of(' ', at);
        if (begin == std::string_view::npos)
            break;
        const std::size_t end = std::min(command.find(' ', begin), command.size());
        std::string_view word = command.substr(begin, end - begin);
        if (word == "&&" || word == ";" || word == "|" || word == "||" || word.starts_with('#'))
            break;
        const bool last = word.ends_with(';');
        while (!word.empty() && std::string_view("\"'`,;.").find(word.back()) != std::string_view::npos)
            word.remove_suffix(1);
        while (!word.empty() && std::string_view("\"'`").find(word.front()) != std::string_view::npos)
            word.remove_prefix(1);
        words.push_back({word, end});
        if (last)
            break;
        at = end;
    }
    return words;
}

/// The version of "name==1.2.3" or "name>=1.2"; nullopt when the word is another package.
struct Requirement {
    std::string version;
    std::string local;
    std::string extra;
    bool or_later = false;
};
std::optional<Requirement> requirement(std::string_view word, std::string_view name) {
    if (!word.starts_with(name))
        return std::nullopt;
    word.remove_prefix(name.size());
    Requirement result;
    if (word.starts_with('[')) {
        const std::size_t close = word.find(']');
        if (close == std::string_view::npos)
            return std::nullopt;
        result.extra = word.substr(1, close - 1);
        word.remove_prefix(close + 1);
    }
    if (word.empty())
        return result;
    if (std::string_view("=<>~!@").find(word.front()) == std::string_view::npos)
        return std::nullopt;
    const std::size_t digits = word.find_first_of("0123456789");
    if (word.front() == '@' || digits == std::string_view::npos)
        return result;
    result.or_later = word.front() == '>';
    std::string_view version = word.substr(digits, word.find_first_of(",;", digits) - digits);
    if (const std::size_t plus = version.find('+'); plus != std::string_view::npos) {
        result.local = version.substr(plus + 1);
        version = version.substr(0, plus);
    }
    if (word.front() != '<' && word.front() != '!')
        result.version = version;
    return result;
}

/// The value of an option given as "--name=value" or in the next word.
bool option(const std::vector<Word>& words, std::size_t& i, std::initializer_list<std::string_view> names,
            std::string& value) {
    for (const std::string_view name : names) {
        const std::string_view word = words[i].text;
        if (word == name && i + 1 < words.size())
            value = words[++i].text;
        else if (word.size() > name.size() && word.starts_with(name) && word[name.size()] == '=')
            value = word.substr(name.size() + 1);
        else
            continue;
        return true;
    }
    return false;
}

/// Reads the words after "install"; nullopt when torch is not among them.
std::optional<TorchInstall> read_install(std::string_view arguments) {
    TorchInstall install;
    bool names_torch = false;
    const std::vector<Word> words = words_of_command(arguments);
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (option(words, i, {"--index-url", "-i", "--default-index", "--torch-backend"}, install.index) ||
            option(words, i, {"--extra-index-url", "--index"}, install.extra_index) ||
            option(words, i, {"-f", "--find-links"}, install.links)) {
            install.size = words[i].end;
            continue;
        }
        install.size = words[i].end;
        if (const auto torch = requirement(words[i].text, "torch")) {
            names_torch = true;
            install.torch = torch->version;
            install.or_later = torch->or_later;
            install.local = torch->local;
            if (const std::size_t device = torch->extra.find("device-"); device != std::string::npos)
                install.device = torch->extra.substr(device + 7);
        } else if (const auto vision = requirement(words[i].text, "torchvision")) {
            install.vision = vision->version;
        } else if (const auto audio = requirement(words[i].text, "torchaudio")) {
            install.audio = audio->version;
        }
    }
    return names_torch ? std::optional(install) : std::nullopt;
}

} // namespace

std::vector<TorchInstall> torch_installs(std::string_view text) {
    static const RE2 command(
        "\\b(pip3?|uv|conda|mamba|micromamba|poetry|pipenv)\\b( -m)?( pip)? (install|add) ");
    std::vector<TorchInstall> installs;
    re2::StringPiece whole(text.data(), text.size());
    re2::StringPiece match[2];
    std::size_t at = 0;
    while (at < text.size() && command.Match(whole, at, text.size(), RE2::UNANCHORED, match, 2)) {
        const std::size_t begin = static_cast<std::size_t>(match[0].begin() - whole.begin());
        const std::size_t arguments = begin + match[0].size();
        std::size_t next = text.size();
        re2::StringPiece following;
        if (command.Match(whole, arguments, text.size(), RE2::UNANCHORED, &following, 1))
            next = static_cast<std::size_t>(following.begin() - whole.begin());
        if (auto install = read_install(text.substr(arguments, next - arguments))) {
            install->at = begin;
            install->size += match[0].size();
            install->conda = match[1].ends_with("a") || match[1].ends_with("conda");
            installs.push_back(*install);
        }
        at = arguments;
    }
    return installs;
}

std::optional<NamedIndex> index_of(std::string_view address, const Knowledge& knowledge) {
    static const RE2 pytorch("(?:^|//)download\\.pytorch\\.org/whl/(nightly/)?([A-Za-z0-9.]+)/?");
    static const RE2 backend("(rocm\\d[\\d.]*|cu\\d+|cpu)");
    const re2::StringPiece text(address.data(), address.size());
    NamedIndex named;
    std::string nightly;
    if (RE2::PartialMatch(text, pytorch, &nightly, &named.id)) {
        named.nightly = !nightly.empty();
        return named;
    }
    if (RE2::FullMatch(text, backend, &named.id))
        return named;
    while (address.ends_with('/'))
        address.remove_suffix(1);
    for (const WheelIndex& index : knowledge.indexes) {
        std::string_view known = index.url;
        while (known.ends_with('/'))
            known.remove_suffix(1);
        if (address == known)
            return NamedIndex{index.id, false};
    }
    return std::nullopt;
}

} // namespace rekindle::doctor
