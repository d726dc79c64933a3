#include "parameters.h"

#include <algorithm>
#include <re2/re2.h>
#include <string>

namespace rekindle::doctor {
namespace {

constexpr std::string_view amdgpu_prefix = "amdgpu.";
constexpr std::string_view nvidia_prefix = "NVreg_";
/// A name without "_" that is shorter than this could be an ordinary word.
constexpr std::size_t unmistakable_length = 8;

bool is_parameter_character(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string_view parameter_name_at(std::string_view text, std::size_t at) {
    std::size_t end = at;
    while (end < text.size() && is_parameter_character(text[end]))
        ++end;
    return text.substr(at, end - at);
}

/// Reads the value after "=" up to a space or a quotation mark. A period or comma at the end is not part of
/// the value but of the sentence.
std::string_view parameter_value_at(std::string_view text, std::size_t at) {
    const bool quoted = at < text.size() && (text[at] == '"' || text[at] == '\'');
    const std::size_t begin = quoted ? at + 1 : at;
    const std::size_t end =
        std::min(text.find_first_of(quoted ? text.substr(at, 1) : " \"'`);]|", begin), text.size());
    std::string_view value = text.substr(begin, end - begin);
    while (!value.empty() && std::string_view(".,:").find(value.back()) != std::string_view::npos)
        value.remove_suffix(1);
    return value;
}

bool begins_word(std::string_view text, std::size_t at) {
    return at == 0 || (!is_parameter_character(text[at - 1]) && text[at - 1] != '.' && text[at - 1] != '/');
}

} // namespace

struct ParameterFinder::Place {
    std::size_t at = 0;     ///< where the name begins, without "amdgpu."
    std::size_t begin = 0;  ///< with "amdgpu.", if the text has it
    std::string_view name;  ///< without "amdgpu."
    std::string_view value; ///< "" for none
    std::size_t end = 0;
    std::string whole; ///< with its prefix

    Place(std::string_view text, std::size_t where, std::string_view prefix)
        : at(where), begin(where), name(parameter_name_at(text, where)), end(where + name.size()),
          whole(std::string(prefix) + std::string(name)) {
        if (end < text.size() && text[end] == '=') {
            value = parameter_value_at(text, end + 1);
            end = value.empty() ? end : static_cast<std::size_t>(value.data() - text.data()) + value.size();
        }
    }
};

ParameterFinder::ParameterFinder(const Knowledge& knowledge) : knowledge_(knowledge) {
    for (const EnvironmentVariable& variable : knowledge.variables)
        if (variable.name.starts_with(amdgpu_prefix) || variable.name.starts_with(nvidia_prefix))
            known_.emplace(variable.name, &variable);
}

void ParameterFinder::mark_parameters(const Block& block, const SettingContext& context,
                                      std::vector<Found>& found) const {
    static const RE2 options("\\b(options|modprobe|insmod) (-\\S+ )*amdgpu ");
    const std::string_view text = block.text;
    std::size_t stop = text.size();
    if (re2::StringPiece rest(block.text); RE2::FindAndConsume(&rest, options)) {
        stop = static_cast<std::size_t>(rest.data() - block.text.data());
        mark_options(block, stop, context, found);
    }
    for (std::size_t at = text.find_first_of("=_."); at < stop; at = text.find_first_of("=_.", at + 1)) {
        std::size_t begin = at;
        while (begin > 0 && is_parameter_character(text[begin - 1]))
            --begin;
        if (text[at] == '.' && text.substr(begin).starts_with(amdgpu_prefix) && begins_word(text, begin)) {
            Place place(text, at + 1, amdgpu_prefix);
            place.begin = begin;
            mark_at(block, place, context, found);
        } else if (text[at] == '_' && text.substr(begin).starts_with(nvidia_prefix) &&
                   begin + nvidia_prefix.size() == at + 1) {
            mark_at(block, Place(text, begin, ""), context, found);
        } else if (text[at] == '=' && at > begin && begins_word(text, begin)) {
            const Place place(text, begin, amdgpu_prefix);
            const bool unmistakable =
                place.name.find('_') != std::string_view::npos || place.name.size() > unmistakable_length;
            if (unmistakable && known_.contains(place.whole))
                mark_at(block, place, context, found);
        }
    }
}

void ParameterFinder::mark_options(const Block& block, std::size_t begin, const SettingContext& context,
                                   std::vector<Found>& found) const {
    const std::string_view text = block.text;
    while (begin < text.size()) {
        const Place place(text, begin, amdgpu_prefix);
        if (place.name.empty() || place.at + place.name.size() >= text.size() ||
            text[place.at + place.name.size()] != '=')
            return;
        mark_at(block, place, context, found);
        begin = std::min(text.find_first_not_of(' ', place.end), text.size());
    }
}

void ParameterFinder::mark_at(const Block& block, const Place& place, const SettingContext& context,
                              std::vector<Found>& found) const {
    const auto known = known_.find(place.whole);
    if (known != known_.end())
        return mark(block, place.begin, place.end - place.begin, "variable",
                    judge_variable(*known->second, place.whole, place.value, context, knowledge_), found);
    const VariableFamily* family = knowledge_.variable_family(place.whole);
    if (family != nullptr && !place.value.empty() && !family->contains(place.whole))
        mark(block, place.begin, place.end - place.begin, "variable", judge_unknown(*family, place.whole),
             found);
}

} // namespace rekindle::doctor
