/// Compares the search for needed texts with plain RE2.

#include "log/case_files.h"
#include "log/line_patterns.h"
#include "text/needed_texts.h"

#include <rekindle/base/text.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <re2/re2.h>
#include <set>

namespace rekindle::doctor {
namespace {

/// Every pattern that the program uses for logs.
std::vector<std::string> known_patterns() {
    std::vector<std::string> patterns;
    for (const auto& [pattern, texts] : embedded_knowledge().needed_texts)
        patterns.push_back(pattern);
    return patterns;
}

std::size_t shortest_of(const std::vector<std::string>& texts) {
    std::size_t shortest = std::string::npos;
    for (const std::string& text : texts)
        shortest = std::min(shortest, text.size());
    return shortest;
}

/// Lines that nearly match: posted lines with a few changes, and parts of patterns.
class Lines {
  public:
    Lines() {
        for (const CaseFile& file : read_case_files(embedded_knowledge()))
            for (const std::string_view line : split(file.log, '\n'))
                sources_.emplace_back(line);
        for (const Signature& signature : embedded_knowledge().signatures)
            sources_.insert(sources_.end(), signature.patterns.begin(), signature.patterns.end());
    }
    std::string next() {
        std::string line = sources_[random_() % sources_.size()];
        for (auto change = random_() % 6; change > 0 && !line.empty(); --change) {
            char& c = line[random_() % line.size()];
            c = change % 2 == 0 ? static_cast<char>(' ' + random_() % 95)
                                : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        }
        return line;
    }

  private:
    std::vector<std::string> sources_;
    std::mt19937 random_{5};
};

TEST(LinePatterns, FindWhatEveryPatternAloneFinds) {
    const std::vector<std::string> texts = known_patterns();
    ASSERT_GT(texts.size(), 1000U);
    LinePatterns patterns(embedded_knowledge().needed_texts);
    std::vector<std::unique_ptr<RE2>> alone;
    RE2::Options options(RE2::Quiet);
    options.set_case_sensitive(false);
    for (std::size_t i = 0; i < texts.size(); ++i) {
        ASSERT_EQ(patterns.add(texts[i]), static_cast<int>(i)) << texts[i];
        alone.push_back(std::make_unique<RE2>(texts[i], options));
    }
    patterns.compile();
    Lines lines;
    std::size_t matches = 0;
    std::vector<int> numbers;
    for (int round = 0; round < 400; ++round) {
        const std::string line = lines.next();
        std::vector<int> expected;
        for (std::size_t i = 0; i < alone.size(); ++i)
            if (RE2::PartialMatch(line, *alone[i]))
                expected.push_back(static_cast<int>(i));
        patterns.match(line, numbers);
        EXPECT_EQ(numbers, expected) << line;
        matches += expected.size();
    }
    EXPECT_GT(matches, 400U);
}

TEST(LinePatterns, OnlyALineThatHasTheTextsIsPossible) {
    LinePatterns patterns;
    const int both = patterns.add("hip error.*(gfx1010|gfx1030)");
    patterns.compile();
    std::vector<int> numbers;
    patterns.find_possible("HIP error on gfx900", numbers);
    EXPECT_TRUE(numbers.empty());
    patterns.find_possible("gfx1030", numbers);
    EXPECT_TRUE(numbers.empty());
    patterns.find_possible("GFX1030 before HIP Error", numbers);
    EXPECT_EQ(numbers, std::vector<int>{both});
    EXPECT_FALSE(patterns.matches(both, "GFX1030 before HIP Error"));
}

TEST(LinePatterns, APatternMayMatchOnlyTheRestOfALine) {
    struct Expected {
        const char* pattern;
        const char* line;
        const char* rest;
        bool matches;
    };
    for (const Expected& expected :
         {Expected{"^abc", "12:00 abc", "abc", true}, Expected{R"(x|\Aabc)", "12:00 abc", "abc", true},
          Expected{R"(\babc)", "12abc", "abc", true}, Expected{R"(\Babc)", "1 abc", "abc", false},
          Expected{R"(\bxyz)", "12abc", "abc", false}, Expected{"xyz$", "12:00 abc", "abc", false}}) {
        LinePatterns patterns;
        const int number = patterns.add(expected.pattern);
        patterns.compile();
        ASSERT_FALSE(patterns.matches(number, expected.line)) << expected.pattern;
        EXPECT_EQ(patterns.matches(number, expected.rest), expected.matches) << expected.pattern;
        EXPECT_EQ(patterns.matches_only_rest(number, expected.line, expected.rest), expected.matches)
            << expected.pattern;
    }
}

TEST(NeededTexts, AreInEveryLineThatMatches) {
    const auto sorted_groups = [](const char* pattern) {
        const NeededTexts needed = needed_texts(pattern).value();
        std::set<std::set<std::string>> groups;
        for (const std::vector<std::string>& group : needed)
            groups.emplace(group.begin(), group.end());
        return groups;
    };
    using Groups = std::set<std::set<std::string>>;
    EXPECT_EQ(sorted_groups("(out of memory|oom).*pid [0-9]+"), (Groups{{"oom", "out of memory"}, {"pid "}}));
    EXPECT_EQ(sorted_groups("gpu (is )?lost|device hung"),
              (Groups{{"gpu ", "device hung"}, {"lost", "device hung"}}));
    EXPECT_FALSE(needed_texts("(").has_value());
    EXPECT_EQ(needed_texts(R"(^\d+$)").value().at(0).size(), 10U) << "one of ten digits";
    EXPECT_TRUE(needed_texts("^.*$").value().empty());
    EXPECT_EQ(needed_texts("x+:").value(), (NeededTexts{{"x"}, {":"}}))
        << "short ones where nothing is longer";
}

/// A pattern that needs no longer text is tried on many lines, which takes time. Give a new one a text, or
/// add it here.
TEST(NeededTexts, TheseFewPatternsNeedOnlyAShortOne) {
    // clang-format off
    const std::set<std::string> few{
        R"re((?:\b(?:epochs?|steps?|iter(?:ation)?s?|batch(?:es)?|it|round|update)\b|"epoch"|'epoch')\W{0,4}\d)re",
        R"re([A-Z]:\\)re",
        R"re(\b(6|7|8|9)\d(\.\d+)?\s?%|VRAM Total Used Memory|\b\d{4,6}/\d{4,6} ?MB|MiB free|0 bytes is free|ALLOC_FAILED|out of memory)re",
        R"re(\b(?:train_|val_|eval_|test_)?(?:loss|acc(?:uracy)?|ppl|perplexity|lr|learning.?rate|f1|auc|map50|bleu|reward|grad_norm|mse|rmse|iou|wer)\b\W{0,5}\d|(?:it|samples|images|img|tokens?|tok|steps|rows|seq)/s(?:ec)?\b|\bs/it\b|ms/(?:step|batch|iter))re",
        R"re(\b(\d+) ?([kmg]i?b) ?/ ?(\d+) ?([kmg]i?b)\b)re",
        R"re(\b(\d{9,}) ?(b|bytes)? ?(?:of|/|out of) ?(\d{9,}) ?(b|bytes)?\b)re",
        R"re(\b[a-z]:\\(?:users|program files|windows|programdata|[\w .-]+\\))re",
        R"re(\d{1,3}%\|[^|]*\|\s*(\d+)/\d+ \[)re",
        R"re(^.{0,120}?\b(?:HSA|HIP|HCC|ROCR|ROCM|ROC|CUDA|PYTORCH|TORCH\w*|MIOPEN|ROCBLAS|HIPBLASLT|TENSILE|NCCL|RCCL|TRITON|AMD|AMDGPU|GPU|VK|LD|FLASH|OMP|MESA|RADV)_[A-Z0-9_]+\s?=)re",
        R"re(^\|\s+\d+\s+(N/A\s+N/A\s+)?\d+\s+(C|G|C\+G)\s+\S+)re",
        R"re(_Z\w*|\?\w+@@|torch_\w+\.dll|c10\.dll|@c10@|@at@)re",
        R"re(flash_attn|flash-attn|xformers|torch_(scatter|sparse|cluster|spline)|torchvision|torchaudio|mmcv|detectron2|apex|vllm|fused_|_C\.\w+|_cuda\w*\.cpython|_ext\.\w+|causal_conv1d|mamba|deepspeed|torchtext|dgl)re",
        R"re(invalid|empty|InvalidImage|KB)re",
        R"re(kfd|/dev/|\.so[.\d]*'?:? |\.so\b|nvcc|Python\.h|TensileLibrary|amdgpu|'(gcc|g\+\+|cc|clang|cl|ninja|nvidia-smi|rocminfo)'|Direct firmware|libcuda|\.dll|ld\.lld|command not found|GPU arch|rocblas|hipblaslt|ptxas|MIOpen|vulkan|icd)re",
    };
    // clang-format on
    std::set<std::string> found;
    for (const auto& [pattern, groups] : embedded_knowledge().needed_texts) {
        ASSERT_FALSE(groups.empty()) << pattern;
        if (shortest_of(groups.front()) < 3)
            found.insert(pattern);
    }
    EXPECT_EQ(found, few);
}

} // namespace
} // namespace rekindle::doctor
