#pragma once
/// The `key: value` pairs of what somebody posted about a host.

#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

struct PostedEntry {
    std::string
        key; ///< lower case, one of the names that read_posted_facts knows where it is an alias of one
    std::string value; ///< one line; lists and mappings joined
    int line = 0;
};

/// Of a case file only `environment:` is read, never its log, cause or fix. Otherwise YAML of one level, or
/// lines `key: value` as people write them. Throws usage_error at `file:line` for anything else.
std::vector<PostedEntry> posted_entries(std::string_view text, std::string_view file);

} // namespace rekindle::doctor
