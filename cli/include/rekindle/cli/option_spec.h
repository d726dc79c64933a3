#pragma once
/// The description of one option of the command line.

#include <rekindle/base/range.h>
#include <rekindle/trainer/setting.h>

#include <string>
#include <string_view>
#include <vector>

namespace rekindle::cli {

using trainer::Exclusion;
using trainer::ValueKind;

/// One option of one or more commands. Strings are ASCII.
struct OptionSpec {
    std::string_view name;                      ///< with hyphens and without the leading ones: "batch-size"
    std::vector<std::string_view> aliases = {}; ///< short and old names with their hyphens: "-b", "-lr"
    ValueKind kind = ValueKind::text;
    std::string_view value_name = ""; ///< the value's name in help: "N"
    std::vector<std::string_view> words = {};
    Range range = {};
    bool in_config = false;                 ///< sets the key of TrainConfig that is the name with underscores
    std::string_view group;                 ///< heading in help
    std::string_view brief;                 ///< one line, with units
    std::string_view detail;                ///< a paragraph
    std::string_view example;               ///< arguments of the command, without the program's name
    std::vector<std::string_view> commands; ///< names of the commands that take it
    std::string default_text = {};          ///< only where in_config is false and there is a default
    bool required = false;
    bool value_optional = false; ///< may be given without a value, which is then ""
    std::vector<Exclusion> not_with = {};

    std::string key() const { return trainer::key_of(name); }
    bool belongs_to(std::string_view command) const noexcept;
};

} // namespace rekindle::cli
