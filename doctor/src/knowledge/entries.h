#pragma once
/// Converts the YAML of one knowledge file into its entries.

#include "mistakes.h"
#include "safe_yaml.h"

#include <rekindle/doctor/knowledge.h>

#include <string_view>

namespace rekindle::doctor {

/// Whether the file is a template for new entries: its name begins with "_". It is checked, but is not part
/// of the knowledge.
bool is_template(std::string_view file) noexcept;

/// Appends the entries of a parsed file to the list of their type. Mistakes go to `mistakes`; an entry with
/// mistakes is appended as far as it could be read.
void read_entries(const YamlNode& document, std::string_view file, Knowledge& into, Mistakes& mistakes);

/// The tree of a signature's `when`. The meaning of the keys is not known here.
Condition read_condition(const YamlNode& node, std::string_view file, Mistakes& mistakes);

} // namespace rekindle::doctor
