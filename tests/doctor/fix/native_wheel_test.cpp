#include "lines_sink.h"
#include "temporary_folder.h"

#include <rekindle/doctor/facts_json.h>
#include <rekindle/doctor/fix.h>
#include <rekindle/doctor/report.h>
#include <rekindle/foundation/file.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>

namespace rekindle::doctor {
namespace {

namespace fs = std::filesystem;

void replace_all(std::string& text, const std::string& what, const std::string& with) {
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
        text.replace(at, what.size(), with);
}

/// The step with the folders of the recorded user and the URL of the index replaced by the test's own.
Step moved(Step step, const std::vector<std::pair<std::string, std::string>>& replacements) {
    std::vector<std::string*> texts{&step.verify, &step.environment};
    for (std::vector<std::string>* list : {&step.commands, &step.undo})
        for (std::string& line : *list)
            texts.push_back(&line);
    for (std::string* text : texts)
        for (const auto& [what, with] : replacements)
            replace_all(*text, what, with);
    return step;
}

bool has_venv(const fs::path& folder) {
    return std::system(("python3 -m venv '" + (folder / "try").string() + "' >/dev/null 2>&1").c_str()) == 0;
}

TEST(Fix, InstallsNativeWheelsForAnRx5600XtFromALocalIndex) {
    const test::TemporaryFolder folder;
    if (!has_venv(folder.path()))
        GTEST_SKIP() << "skipped: python3 -m venv does not work here (package python3-venv)";
    const fs::path data = test::data_folder;
    const fs::path index = folder.path() / "index";
    ASSERT_EQ(
        std::system(
            ("python3 '" + (data / "make_stub_index.py").string() + "' '" + index.string() + "'").c_str()),
        0);

    const auto host = nlohmann::ordered_json::parse(
        read_file((data.parent_path().parent_path() / "hosts" / "rx5600xt-override.json")));
    Recording recording = recording_from_json(host, "rx5600xt-override.json");
    const Report report = make_report(std::move(recording.facts), {}, nullptr, embedded_knowledge());
    const auto found = std::find_if(report.plan.steps.begin(), report.plan.steps.end(),
                                    [](const Step& step) { return step.id == "use-native-wheel"; });
    ASSERT_NE(found, report.plan.steps.end());
    const std::string interpreter = found->commands.front().substr(0, found->commands.front().find(' '));
    const Step step =
        moved(*found, {{"https://repo.amd.com/rocm/whl-multi-arch/", "file://" + index.string()},
                       {interpreter, "python3"},
                       {"/home/anna", folder.path().string()}});
    EXPECT_EQ(reason_to_refuse(step), "");
    ::setenv("PIP_CONFIG_FILE", "/dev/null",
             1); // the machine's own indexes must not be used in place of the stub
    for (const char* name : {"PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_INDEX_URL"})
        ::unsetenv(name);
    LinesSink lines;
    const FixResult result = carry_out(step, report.facts, folder.path() / "records", lines);
    EXPECT_TRUE(result.carried_out) << lines.text;
    EXPECT_TRUE(result.verified) << result.failure << "\n" << lines.text;
    EXPECT_TRUE(fs::exists(step.environment));
    EXPECT_TRUE(fs::exists(result.folder / "pip-freeze.txt"));
    EXPECT_EQ(std::system(("'" + result.undo_script.string() + "'").c_str()), 0);
    EXPECT_FALSE(fs::exists(step.environment));
}

} // namespace
} // namespace rekindle::doctor
