#pragma once
/// Reads one YAML mapping into the members of a struct, strictly.

#include "mistakes.h"
#include "safe_yaml.h"

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// Every read names its key; finish() then reports the keys that were not read. Mistakes go to `mistakes`
/// with their line, and the member keeps its previous value.
class MappingReader {
  public:
    enum class Need { required, optional };

    /// `node` must outlive the reader. If it is not a mapping, that is reported as one mistake, and every
    /// read then finds nothing without reporting more.
    MappingReader(const YamlNode& node, std::string_view file, Mistakes& mistakes);

    /// Text that is not empty, unless it is optional.
    void read(std::string_view key, std::string& into, Need need = Need::required);
    void read(std::string_view key, bool& into, Need need = Need::optional);
    void read(std::string_view key, int& into, Need need = Need::optional);
    /// A finite number, not negative.
    void read(std::string_view key, double& into, Need need = Need::optional);
    /// A list of texts. A single text is a mistake: `[one]` shows that there may be more.
    void read(std::string_view key, std::vector<std::string>& into, Need need = Need::optional);
    /// One of `words`.
    void read_word(std::string_view key, std::string& into, std::initializer_list<std::string_view> words,
                   Need need = Need::required);
    /// A list of mappings, each passed to `item` with its own reader, which is finished afterwards.
    void read_items(std::string_view key, const std::function<void(MappingReader&)>& item,
                    Need need = Need::optional);
    /// A mapping, passed to `read` with its own reader, which is finished afterwards.
    void read_mapping(std::string_view key, const std::function<void(MappingReader&)>& read,
                      Need need = Need::required);
    /// The raw value; nullptr when there is none.
    const YamlNode* take(std::string_view key, Need need = Need::optional);

    /// Reports unknown keys, with the known key that was probably meant.
    void finish();

    Origin origin() const { return origin_at(node_.line); }
    Origin origin_at(int line) const { return {std::string(file_), line}; }
    Mistakes& mistakes() { return mistakes_; }

  private:
    const YamlNode* scalar(std::string_view key, Need need);
    const YamlNode* sequence(std::string_view key, Need need);
    void wrong(const YamlNode& value, std::string_view key, std::string_view expected);

    const YamlNode& node_;
    std::string_view file_;
    Mistakes& mistakes_;
    bool usable_;
    std::vector<std::string_view> known_;
};

} // namespace rekindle::doctor
