#include "case_files.h"

#include "knowledge/safe_yaml.h"

#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>

#include <fmt/format.h>

#include <algorithm>
#include <paths.h>
#include <re2/re2.h>
#include <unistd.h>

namespace rekindle::doctor {
namespace {

std::filesystem::path folder_of(std::string_view name) {
    return std::filesystem::path(test::data_folder).parent_path() / name;
}

/// The environment as a separate file, so that nothing else of the case is visible.
std::string environment_text(const YamlNode& environment) {
    std::string text = "environment:\n";
    for (const YamlMember& member : environment.members) {
        std::string value = member.value.text;
        RE2::GlobalReplace(&value, R"(\\)", R"(\\\\)");
        RE2::GlobalReplace(&value, "\"", "\\\\\"");
        RE2::GlobalReplace(&value, "\n", " ");
        text += fmt::format("  {}: \"{}\"\n", member.key, value);
    }
    return text;
}

class TemporaryFile {
  public:
    explicit TemporaryFile(std::string_view text)
        : path_(std::filesystem::temp_directory_path() / fmt::format("rekindle-case-{}.yaml", ::getpid())) {
        write_file_atomically(path_, text);
    }
    ~TemporaryFile() { std::filesystem::remove(path_); }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

Facts facts_of_environment(const YamlNode* environment, const Knowledge& knowledge) {
    if (environment == nullptr || environment->kind != YamlNode::Kind::mapping)
        return {};
    const TemporaryFile file(environment_text(*environment));
    return read_posted_facts(file.path(), knowledge);
}

std::string slug_of(const YamlNode& node, const std::filesystem::path& file) {
    const YamlNode* cause = node.find("cause");
    if (cause != nullptr && cause->kind == YamlNode::Kind::mapping)
        cause = cause->find("slug");
    if (cause == nullptr || cause->kind != YamlNode::Kind::scalar)
        throw usage_error("a case without a cause").at(file.string());
    return cause->text;
}

void read_folder(const std::filesystem::path& folder, bool given, const Knowledge& knowledge,
                 std::vector<CaseFile>& cases) {
    if (!std::filesystem::exists(folder))
        return;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() != ".yaml")
            continue;
        const YamlNode root = load_yaml_file(entry.path(), entry.path().string());
        const YamlNode* log = root.find("log");
        if (log == nullptr || log->kind != YamlNode::Kind::scalar)
            throw usage_error("a case without a log").at(entry.path().string());
        CaseFile one{entry.path().stem().string(), "", log->text, "", given, {}};
        if (const YamlNode* thread = root.find("thread"))
            one.thread = thread->text;
        else if (const YamlNode* source = root.find("source"))
            one.thread = source->text;
        const YamlNode* variants = root.find("variants");
        if (root.find("cause") != nullptr || variants == nullptr) {
            one.cause = slug_of(root, entry.path());
            one.facts = facts_of_environment(root.find("environment"), knowledge);
            cases.push_back(one);
        }
        if (variants == nullptr)
            continue;
        for (std::size_t i = 0; i < variants->items.size(); ++i) {
            CaseFile variant = one;
            variant.name += fmt::format("/{}", i + 2);
            variant.cause = slug_of(variants->items[i], entry.path());
            variant.facts = facts_of_environment(variants->items[i].find("environment"), knowledge);
            if (const YamlNode* other = variants->items[i].find("log"))
                variant.log = other->text;
            cases.push_back(std::move(variant));
        }
    }
}

} // namespace

std::vector<CaseFile> read_case_files(const Knowledge& knowledge) {
    std::vector<CaseFile> cases;
    read_folder(folder_of("cases"), true, knowledge, cases);
    read_folder(folder_of("more_cases"), false, knowledge, cases);
    std::sort(cases.begin(), cases.end(),
              [](const CaseFile& a, const CaseFile& b) { return a.name < b.name; });
    return cases;
}

std::string disguised(std::string_view log) {
    std::string text(log);
    RE2::GlobalReplace(&text, R"(0x[0-9a-fA-F]{4,})", "0x00007f12deadb000");
    RE2::GlobalReplace(&text, R"(<(?:build|env|user|pid|tid|id|t|bdf)>)", "4242");
    RE2::GlobalReplace(&text, R"((^|[\s"'(])(/(?:usr|lib64|src|tmp|home)\b))", R"(\1/srv/u7\2)");
    RE2::GlobalReplace(&text, R"(GLIBC_2\.\d+)", "GLIBC_2.34");
    RE2::GlobalReplace(&text, R"(\b(\d+\.\d+)\.\d+\b)", R"(\1.9)");
    RE2::GlobalReplace(&text, R"(\bpid \d+)", "pid 31337");
    RE2::GlobalReplace(&text, R"((seq=|line[: ]+)\d+)", R"(\177)");
    RE2::GlobalReplace(&text, R"(:\d{3,4}\b)", ":1234");
    return text;
}

} // namespace rekindle::doctor
