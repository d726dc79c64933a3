#pragma once
/// The `key: value` pairs in a posted description of a host.

#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

struct PostedEntry {
    std::string key;   ///< lower case; an alias is replaced by the name that read_posted_facts knows
    std::string value; ///< one line; lists and mappings are joined
    int line = 0;
};

/// In a case file only `environment:` is read, never its log, cause or fix. Otherwise reads YAML with one
/// level, or lines `key: value` as people write them. Throws usage_error at `file:line` for anything else.
std::vector<PostedEntry> posted_entries(std::string_view text, std::string_view file);

} // namespace rekindle::doctor
