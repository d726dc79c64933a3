#include "knowledge/safe_yaml.h"

#include <rekindle/foundation/error.h>

#include <gtest/gtest.h>

#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rekindle::doctor {
namespace {

std::string repeated(std::string_view part, std::size_t times) {
    std::string text;
    for (std::size_t i = 0; i < times; ++i)
        text += part;
    return text;
}

/// "where: what" of the refusal, or "accepted".
std::string refusal(std::string_view text) {
    try {
        load_yaml(text, "f.yaml");
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), ExitStatus::usage);
        return error.where() + ": " + error.message();
    }
    return "accepted";
}

TEST(SafeYaml, KeepsTextsAndLocations) {
    const YamlNode root =
        load_yaml("# comment\npython: 3.10\nlist: [a, \"b: c\"]\ntext: >-\n  one\n  two\nempty:\n", "f");
    ASSERT_EQ(root.kind, YamlNode::Kind::mapping);
    EXPECT_EQ(root.find("python")->text, "3.10");
    EXPECT_FALSE(root.find("python")->quoted);
    EXPECT_EQ(root.find("list")->items.at(1).text, "b: c");
    EXPECT_TRUE(root.find("list")->items[1].quoted);
    EXPECT_EQ(root.find("list")->line, 3);
    EXPECT_EQ(root.find("list")->items[1].column, 11);
    EXPECT_EQ(root.find("text")->text, "one two");
    EXPECT_EQ(root.find("empty")->kind, YamlNode::Kind::null);
    EXPECT_EQ(root.members.at(3).line, 7);
    EXPECT_EQ(root.find("absent"), nullptr);
}

TEST(SafeYaml, AnEmptyTextGivesNull) {
    EXPECT_EQ(load_yaml("", "f").kind, YamlNode::Kind::null);
    EXPECT_EQ(load_yaml("# only a comment\n", "f").kind, YamlNode::Kind::null);
}

TEST(SafeYaml, RefusalsNameTheLocation) {
    EXPECT_EQ(refusal("a: &x 1\n"), "f.yaml:1:4: anchors (&name) are not accepted");
    EXPECT_EQ(refusal("a: 1\nb: *x\n").substr(0, 11),
              "f.yaml:2:4:"); // unknown alias: the parser's own message
    EXPECT_EQ(refusal("a: !!python/object 1\n"), "f.yaml:1:4: tags (!name) are not accepted");
    EXPECT_EQ(refusal("- !x [1]\n").substr(7), "1:3: tags (!name) are not accepted");
    EXPECT_EQ(refusal("a: 1\nb: 2\na: 3\n"), "f.yaml:3:1: duplicate key \"a\"");
    EXPECT_EQ(refusal("? [a]\n: b\n"), "f.yaml:1:3: a key must be plain text");
    EXPECT_EQ(refusal(": b\n"), "f.yaml:1:1: a key is empty");
    EXPECT_EQ(refusal("a: 1\n---\nb: 2\n"), "f.yaml:3:1: a second document begins; only one is accepted");
    EXPECT_EQ(refusal("a: [1\n").substr(0, 17), "f.yaml:2:1: not Y");
    EXPECT_EQ(refusal("a: x\x04y\n"), "f.yaml:1:5: byte 0x04 is not text");
    EXPECT_EQ(refusal(std::string_view("a: x\0y\n", 7)), "f.yaml:1:5: byte 0x00 is not text");
}

TEST(SafeYaml, RefusesNestingBeyondTheLimit) {
    EXPECT_EQ(refusal(repeated("[", 40) + repeated("]", 40)), "accepted");
    EXPECT_EQ(refusal(repeated("[", 41) + repeated("]", 41)), "f.yaml:1:41: nested deeper than 40 levels");
}

TEST(SafeYaml, BombsAreRefusedQuickly) {
    std::string laughs = "a: &a [x, x, x, x, x, x, x, x, x]\n";
    for (char c = 'b'; c < 'k'; ++c)
        laughs += std::string(1, c) + ": &" + c + " [" +
                  repeated("*" + std::string(1, static_cast<char>(c - 1)) + ", ", 9) + "]\n";
    const std::vector<std::string> bombs{
        laughs,
        repeated("[", 1'000'000),
        repeated("[\n", 300'000),
        repeated("{a: ", 10'000),
        repeated("- ", 30'000),
        repeated("? ", 30'000),
        repeated("[a:", 20'000),
        '"' + repeated("a\n", 200'000) + 'a',
        repeated("- a\n", 310'000),
        repeated("a", yaml_size_limit + 1),
    };
    for (const std::string& bomb : bombs) {
        const std::clock_t begin = std::clock();
        EXPECT_NE(refusal(bomb), "accepted") << bomb.substr(0, 40);
        // CPU time of this process, so a busy machine does not matter; a bomb would take minutes.
        EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 5.0) << bomb.substr(0, 40);
    }
}

TEST(SafeYaml, FoldersAndDevicesAreRefused) {
    EXPECT_THROW(load_yaml_file("/dev/zero", "zero"), Error);
    EXPECT_THROW(load_yaml_file("/nonexistent.yaml", "none"), Error);
    EXPECT_THROW(load_yaml_file("/", "folder"), Error);
}

} // namespace
} // namespace rekindle::doctor
