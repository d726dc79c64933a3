#include "safe_yaml.h"

#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <istream>
#include <streambuf>
#include <system_error>
#include <unordered_set>
#include <utility>

namespace rekindle::doctor {
namespace {

class Refusal {
  public:
    explicit Refusal(std::string_view file) : file_(file) {}

    [[noreturn]] void at(int line, int column, std::string what) const {
        throw usage_error(std::move(what)).at(fmt::format("{}:{}:{}", file_, line, column));
    }
    [[noreturn]] void at(const YAML::Mark& mark, std::string what) const {
        at(mark.line + 1, mark.column + 1, std::move(what));
    }

  private:
    std::string_view file_;
};

/// A stream over bytes that it does not copy.
class ViewBuffer : public std::streambuf {
  public:
    explicit ViewBuffer(std::string_view text) {
        // The stream only reads; its interface wants char*.
        char* begin = const_cast<char*>(text.data()); // NOLINT(cppcoreguidelines-pro-type-const-cast)
        setg(begin, begin, begin + text.size());
    }
};

/// Checks for what is visible without parsing and would be expensive or misleading for the parser.
void check_bytes(std::string_view text, const Refusal& refuse) {
    if (text.size() > yaml_size_limit)
        refuse.at(1, 1, fmt::format("the file has more than {} bytes", yaml_size_limit));
    int line = 1;
    std::size_t line_begin = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '\n') {
            ++line;
            line_begin = i + 1;
        } else if (c == '\0' || c == '\x04') { // yaml-cpp takes \x04 for the end of the file
            refuse.at(line, static_cast<int>(i - line_begin) + 1,
                      fmt::format("byte 0x{:02x} is not text", static_cast<unsigned>(c)));
        } else if (i - line_begin >= yaml_line_limit) {
            refuse.at(line, 1, fmt::format("the line has more than {} bytes", yaml_line_limit));
        }
    }
}

/// Builds the tree from the parser's events and refuses at the first unwanted one.
class TreeBuilder : public YAML::EventHandler {
  public:
    explicit TreeBuilder(const Refusal& refuse) : refuse_(refuse) {}

    YamlNode take() { return std::move(root_); }

    void OnDocumentStart(const YAML::Mark&) override {}
    void OnDocumentEnd() override {}

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        refuse_anchor(mark, anchor);
        if (wants_key())
            refuse_.at(mark, "a key is empty");
        place(node(YamlNode::Kind::null, mark));
    }

    void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
        refuse_.at(mark, "aliases (*name) are not accepted");
    }

    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& value) override {
        refuse_anchor(mark, anchor);
        if (tag != "?" && tag != "!" && !tag.empty())
            refuse_.at(mark, "tags (!name) are not accepted");
        if (wants_key()) {
            open_.back()->members.push_back(
                {.key = value, .line = mark.line + 1, .column = mark.column + 1, .value = {}});
            key_open_.back() = true;
            count(mark.line + 1, mark.column + 1);
            return;
        }
        YamlNode scalar = node(YamlNode::Kind::scalar, mark);
        scalar.text = value;
        scalar.quoted = tag == "!";
        place(std::move(scalar));
    }

    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        open(YamlNode::Kind::sequence, mark, tag, anchor);
    }
    void OnSequenceEnd() override { close(); }

    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        open(YamlNode::Kind::mapping, mark, tag, anchor);
    }
    void OnMapEnd() override {
        refuse_duplicates(*open_.back());
        close();
    }

  private:
    static YamlNode node(YamlNode::Kind kind, const YAML::Mark& mark) {
        YamlNode made;
        made.kind = kind;
        made.line = mark.line + 1;
        made.column = mark.column + 1;
        return made;
    }

    bool wants_key() const {
        return !open_.empty() && open_.back()->kind == YamlNode::Kind::mapping && !key_open_.back();
    }

    void count(int line, int column) {
        if (++nodes_ > yaml_node_limit)
            refuse_.at(line, column, fmt::format("the file has more than {} values", yaml_node_limit));
    }

    void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) const {
        if (anchor != 0)
            refuse_.at(mark, "anchors (&name) are not accepted");
    }

    /// Puts a value where the document currently is; the place stays valid until its container gets another
    /// value.
    YamlNode* place(YamlNode value) {
        count(value.line, value.column);
        if (open_.empty()) {
            root_ = std::move(value);
            return &root_;
        }
        YamlNode& container = *open_.back();
        if (container.kind == YamlNode::Kind::sequence)
            return &container.items.emplace_back(std::move(value));
        key_open_.back() = false;
        container.members.back().value = std::move(value);
        return &container.members.back().value;
    }

    void open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
        refuse_anchor(mark, anchor);
        if (!tag.empty() && tag != "?")
            refuse_.at(mark, "tags (!name) are not accepted");
        if (wants_key())
            refuse_.at(mark, "a key must be plain text");
        if (static_cast<int>(open_.size()) >= yaml_depth_limit)
            refuse_.at(mark, fmt::format("nested deeper than {} levels", yaml_depth_limit));
        open_.push_back(place(node(kind, mark)));
        key_open_.push_back(false);
    }

    void close() {
        open_.pop_back();
        key_open_.pop_back();
    }

    void refuse_duplicates(const YamlNode& mapping) const {
        std::unordered_set<std::string_view> seen;
        for (const YamlMember& member : mapping.members)
            if (!seen.insert(member.key).second)
                refuse_.at(member.line, member.column, fmt::format("duplicate key \"{}\"", member.key));
    }

    const Refusal& refuse_;
    YamlNode root_;
    std::vector<YamlNode*>
        open_; ///< containers from the root to here; a container does not move while it is open
    std::vector<bool> key_open_; ///< per container: a key is waiting for its value
    std::size_t nodes_ = 0;
};

} // namespace

const YamlNode* YamlNode::find(std::string_view key) const noexcept {
    const auto found = std::find_if(members.begin(), members.end(),
                                    [&](const YamlMember& member) { return member.key == key; });
    return found == members.end() ? nullptr : &found->value;
}

std::string_view YamlNode::kind_name() const noexcept {
    switch (kind) {
    case Kind::scalar:
        return "text";
    case Kind::sequence:
        return "a list";
    case Kind::mapping:
        return "a mapping";
    case Kind::null:
        break;
    }
    return "nothing";
}

YamlNode load_yaml(std::string_view text, std::string_view file) {
    const Refusal refuse(file);
    check_bytes(text, refuse);
    try {
        ViewBuffer buffer(text);
        std::istream stream(&buffer);
        YAML::Parser parser(stream);
        TreeBuilder builder(refuse);
        if (!parser.HandleNextDocument(builder))
            return {};
        YamlNode root = builder.take();
        TreeBuilder second(refuse);
        if (parser.HandleNextDocument(second))
            refuse.at(second.take().line, 1, "a second document begins; only one is accepted");
        return root;
    } catch (const YAML::Exception& error) {
        const int line = error.mark.is_null() ? 1 : error.mark.line + 1;
        const int column = error.mark.is_null() ? 1 : error.mark.column + 1;
        refuse.at(line, column, "not YAML: " + error.msg);
    }
}

YamlNode load_yaml_file(const std::filesystem::path& path, std::string_view name) {
    std::error_code problem;
    const auto status = std::filesystem::status(path, problem);
    if (!problem && !std::filesystem::is_regular_file(status))
        throw usage_error(std::filesystem::exists(status) ? "not a regular file" : "no such file")
            .at(std::string(name));
    const auto size = problem ? 0 : std::filesystem::file_size(path, problem);
    if (problem)
        throw usage_error(problem.message()).at(std::string(name));
    if (size > yaml_size_limit)
        throw usage_error(fmt::format("the file has more than {} bytes", yaml_size_limit))
            .at(std::string(name));
    return load_yaml(read_file(path), name);
}

} // namespace rekindle::doctor
