#include <rekindle/base/text.h>
#include <rekindle/doctor/review.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace rekindle::doctor {
namespace {

/// The checkable lines of five users' reports (data/review/seed-00N.txt), and a person's judgment of each
/// (seed-00N.expected: line, verdict, kind, text, separated by tabs).
class ReportedDocument : public ::testing::TestWithParam<int> {};

std::string read(const std::string& name) {
    std::ifstream file(std::string(REKINDLE_TEST_DATA) + "/review/" + name, std::ios::binary);
    EXPECT_TRUE(file) << name;
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string line_of(const Mark& mark) {
    constexpr std::array<const char*, 5> verdicts{"holds", "wrong", "harmful", "no effect", "unknown"};
    return std::to_string(mark.line) + "\t" + verdicts.at(static_cast<std::size_t>(mark.verdict)) + "\t" +
           mark.kind + "\t" + mark.text;
}

TEST_P(ReportedDocument, IsMarkedAsExpected) {
    const std::string name = "seed-00" + std::to_string(GetParam());
    const std::string expected_text = read(name + ".expected");
    std::multiset<std::string> expected;
    for (const std::string_view line : split(expected_text, '\n'))
        if (!line.empty() && line.front() != '#')
            expected.insert(std::string(line));
    ASSERT_FALSE(expected.empty());
    for (const Mark& mark : review_document(read(name + ".txt"), embedded_knowledge())) {
        const auto known = expected.find(line_of(mark));
        EXPECT_TRUE(known != expected.end()) << "not expected: " << line_of(mark);
        if (known != expected.end())
            expected.erase(known);
        EXPECT_FALSE(mark.reason.empty()) << line_of(mark);
        EXPECT_FALSE(mark.evidence.empty() && mark.verdict != Verdict::unknown &&
                     mark.text.find('*') == std::string::npos)
            << "no evidence: " << line_of(mark);
    }
    for (const std::string& line : expected)
        ADD_FAILURE() << "missed: " << line;
}

INSTANTIATE_TEST_SUITE_P(Seeds, ReportedDocument, ::testing::Range(0, 5));

#ifdef __SANITIZE_ADDRESS__
constexpr int damage_rounds = 300; // each takes several times as long
#else
constexpr int damage_rounds = 2000;
#endif

TEST(ReportedDocuments, DamagedDocumentsAreStillRead) {
    const std::string whole = read("seed-003.txt");
    const std::string text = whole.substr(0, 1500);
    const Knowledge& knowledge = embedded_knowledge();
    // The parsers do not depend on how much is known, and building look-ups from it takes most of the time.
    Knowledge few;
    few.gfx_targets = knowledge.gfx_targets;
    few.indexes.assign(knowledge.indexes.begin(), knowledge.indexes.begin() + 8);
    few.gpus.assign(knowledge.gpus.begin(), knowledge.gpus.begin() + 8);
    few.variables.assign(knowledge.variables.begin(), knowledge.variables.begin() + 40);
    few.claims.assign(knowledge.claims.begin(), knowledge.claims.begin() + 2);
    std::uint32_t state = 7;
    const auto random = [&] { return state = state * 1664525u + 1013904223u; };
    for (int round = 0; round < damage_rounds; ++round) {
        std::string damaged = text.substr(random() % text.size() / 2, 100 + random() % 200);
        for (std::uint32_t i = random() % 8; i > 0 && !damaged.empty(); --i) {
            const std::size_t at = (random() >> 8U) % damaged.size();
            switch (random() >> 16U & 3U) {
            case 0:
                damaged[at] = static_cast<char>(random() >> 24U);
                break;
            case 1:
                damaged.erase(at, random() % 40);
                break;
            case 2:
                damaged.insert(at, damaged.substr(random() % damaged.size(), 20));
                break;
            default:
                damaged[at] = "\n\\=`'\"[(|"[random() >> 8U & 7U];
            }
        }
        const std::size_t lines =
            static_cast<std::size_t>(std::count(damaged.begin(), damaged.end(), '\n')) + 1;
        std::size_t last = 1;
        for (const Mark& mark : review_document(damaged, few)) {
            ASSERT_GE(mark.line, 1u);
            ASSERT_LE(mark.line, lines);
            ASSERT_GE(mark.line + 40, last)
                << "marks come in order, except for overlapping ones in one block";
            ASSERT_FALSE(mark.text.empty());
            last = mark.line;
        }
    }
}

} // namespace
} // namespace rekindle::doctor
