#pragma once
/// The description of one setting: a field of TrainConfig with its name, type, values and words.

#include <rekindle/base/range.h>
#include <rekindle/trainer/config.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace rekindle::trainer {

/// The kinds of values that an option takes.
enum class ValueKind {
    flag,         ///< nothing, or =true / =false
    text,         ///< anything; `words` are special values and are matched in any case
    path,         ///< a file or folder
    path_list,    ///< one or more files or folders; may be repeated
    text_list,    ///< text; may be repeated
    word,         ///< one of `words`, in any case
    word_list,    ///< some of `words`, separated by commas
    integer,      ///< a whole number in `range`
    integer_list, ///< whole numbers in `range`, separated by commas
    number,       ///< a finite number in `range`
    device_ids,   ///< numbers separated by commas, kept as text
    device,       ///< auto, cpu, gpu, gpu:N; cuda and hip mean gpu
};

/// Another option that leaves this one without effect. The program refuses the combination.
struct Exclusion {
    std::string_view option;              ///< the other one's name: "compat"
    std::string_view word = {};           ///< the value of it that matters: "original"; "" for any
    std::string_view reason;              ///< "the original system has its own weights"
    std::string_view own_word = {};       ///< the value of the option itself that matters; "" for any
    std::string_view except_command = {}; ///< the one command that accepts the combination
};

/// What a setting describes. A model keeps its own part; the others may differ each time it is used.
enum class SettingPart {
    model,     ///< what a row means, and how the network is trained
    data_file, ///< which files are read, and how they are written
    machine,   ///< where the program computes
};

/// A field of an enum type, which is read and written by the names of ChoiceNames.
struct ChoiceField {
    std::string_view (*name)(const TrainConfig&);
    bool (*set)(TrainConfig&, std::string_view name); ///< false and no change: not a name of the enum
    std::vector<std::string_view> (*names)();
};

template <auto Member>
struct ChoiceType;
template <class Choice, Choice TrainConfig::*Member>
struct ChoiceType<Member> {
    using Type = Choice;
};

template <auto Member, class Choice = typename ChoiceType<Member>::Type>
inline constexpr ChoiceField choice_field{
    [](const TrainConfig& config) { return name_of<Choice>(config.*Member); },
    [](TrainConfig& config, std::string_view name) {
        const std::optional<Choice> choice = choice_named<Choice>(name);
        if (choice)
            config.*Member = *choice;
        return choice.has_value();
    },
    [] {
        std::vector<std::string_view> names;
        names.reserve(std::size(ChoiceNames<Choice>::list));
        for (const NamedChoice<Choice>& named : ChoiceNames<Choice>::list)
            names.push_back(named.name);
        return names;
    }};

/// The field of TrainConfig that a row describes; its type decides what JSON may hold.
using SettingField = std::variant<std::string TrainConfig::*, std::vector<std::string> TrainConfig::*,
                                  bool TrainConfig::*, std::int64_t TrainConfig::*, double TrainConfig::*,
                                  std::vector<std::int64_t> TrainConfig::*, ChoiceField>;

/// The key in JSON: "batch_size" for the name "batch-size".
std::string key_of(std::string_view name);

/// One setting. Strings are ASCII.
struct Setting {
    std::string_view name; ///< with hyphens: "batch-size"
    SettingField field;
    std::vector<std::string_view> aliases = {};       ///< short and old names with their hyphens: "-b", "-lr"
    std::optional<ValueKind> form = {};               ///< of texts and lists of texts that are more than text
    std::string_view value_name = "";                 ///< the value's name in help: "N"
    std::vector<std::string_view> special_words = {}; ///< of texts; an enum's words are its names
    Range range = {};                                 ///< of numbers, and of each number in a list
    int lead = 0;                           ///< 1, 2 …: help shows it before the other rows of its group
    std::string_view group;                 ///< heading in help
    std::string_view brief;                 ///< one line, with units
    std::string_view detail;                ///< a paragraph
    std::string_view example;               ///< arguments of the command, without the program's name
    std::vector<std::string_view> commands; ///< names of the commands that take it
    bool required = false;
    std::vector<Exclusion> not_with = {};
    SettingPart part = SettingPart::model;

    std::string key() const { return key_of(name); }
    ValueKind kind() const;
    std::vector<std::string_view> words() const;
};

} // namespace rekindle::trainer
