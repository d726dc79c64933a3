#pragma once
/// Reads YAML from untrusted sources without its pitfalls: the knowledge, and case files posted by
/// strangers.
///
/// Accepted: one document of mappings, sequences and scalars. Refused, each with its location: anchors and
/// aliases, tags, keys that are not plain text, duplicate keys, nesting deeper than `yaml_depth_limit`,
/// more than `yaml_node_limit` values, texts over `yaml_size_limit`, lines over `yaml_line_limit`, bytes
/// that are not text. With these limits no input takes more than about two seconds or 300 MiB.
/// text holds. With these limits no input takes more than about two seconds or 300 MiB.

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// Bytes of a file; the parser stores 120 bytes for each nested bracket.
constexpr std::size_t yaml_size_limit = std::size_t{2} << 20;
/// Bytes of a line: the parser looks one line ahead.
constexpr std::size_t yaml_line_limit = std::size_t{64} << 10;
constexpr std::size_t yaml_node_limit = 300'000;
constexpr int yaml_depth_limit = 40;

struct YamlMember;

/// A value and its location. Scalars are text: `python: 3.10` stays "3.10".
struct YamlNode {
    enum class Kind { null, scalar, sequence, mapping };

    Kind kind = Kind::null;
    std::string text;                ///< of a scalar
    bool quoted = false;             ///< the scalar was in quotes or was a block
    std::vector<YamlNode> items;     ///< of a sequence
    std::vector<YamlMember> members; ///< of a mapping, in the order of the file
    int line = 0;                    ///< from 1
    int column = 0;                  ///< from 1

    /// The member with that key, or nullptr.
    const YamlNode* find(std::string_view key) const noexcept;
    /// "text", "a list", "a mapping", "nothing": for messages.
    std::string_view kind_name() const noexcept;
};

struct YamlMember {
    std::string key;
    int line = 0;
    int column = 0;
    YamlNode value;
};

/// Parses `text`; errors mention `file`. Empty text gives a null node. Throws usage_error at
/// `file:line:column`.
YamlNode load_yaml(std::string_view text, std::string_view file);

/// The same for a file on disk, which is not read when it is over the limit or not a regular file. Errors
/// mention `name`.
YamlNode load_yaml_file(const std::filesystem::path& path, std::string_view name);

} // namespace rekindle::doctor
