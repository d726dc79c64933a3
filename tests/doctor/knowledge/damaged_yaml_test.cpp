#include "knowledge/entries.h"
#include "knowledge/safe_yaml.h"

#include <rekindle/foundation/error.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace rekindle::doctor {
namespace {

/// Deterministic random numbers (xorshift), so that a failure can be reproduced.
class Dice {
  public:
    std::size_t below(std::size_t end) {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return static_cast<std::size_t>(state_ % end);
    }

  private:
    std::uint64_t state_ = 0x9e3779b97f4a7c15;
};

constexpr std::string_view sample = R"(- id: blas.alloc
  title: "A BLAS handle could not be made"
  patterns: ["HIPBLAS_STATUS_ALLOC_FAILED", 'a\.b']
  means: >-
    The library asked for memory
    and got none.
  candidates:
    - cause: vram-held
      strength: strong
      when: {gfx: [RDNA3, gfx1030], any: [{torch: ">=2.6"}, {not: {env.X: absent}}]}
      because: |
        one
        two
  evidence:
    - {kind: thread, ref: "a/b#1", note: "x"}
  checked: 2026-11-21
)";

/// Either a tree whose entries can be read, or an Error that names the file.
bool survives(const std::string& text, std::string_view file) {
    Knowledge knowledge;
    Mistakes mistakes;
    try {
        read_entries(load_yaml(text, file), file, knowledge, mistakes);
    } catch (const Error& error) {
        return error.where().starts_with(file);
    }
    for (const Mistakes::Mistake& mistake : mistakes.sorted())
        if (mistake.origin.line < 1)
            return false;
    return true;
}

TEST(DamagedYaml, TheSampleItselfIsValid) {
    Knowledge knowledge;
    Mistakes mistakes;
    read_entries(load_yaml(sample, "signatures.yaml"), "signatures.yaml", knowledge, mistakes);
    EXPECT_TRUE(mistakes.empty());
    ASSERT_EQ(knowledge.signatures.size(), 1U);
    EXPECT_EQ(knowledge.signatures[0].candidates.at(0).when.parts.size(), 2U);
}

TEST(DamagedYaml, TruncatedAnywhere) {
    for (std::size_t size = 0; size < sample.size(); ++size)
        ASSERT_TRUE(survives(std::string(sample.substr(0, size)), "signatures.yaml")) << size;
}

TEST(DamagedYaml, ChangedAnywhere) {
    constexpr std::string_view bytes = "[]{}:,-?&*!|>'\"%@`#\n \t\r\\\x01\x7f\xff\xc3"
                                       "a0~";
    Dice dice;
    for (int round = 0; round < 6000; ++round) {
        std::string text(sample);
        const std::size_t changes = 1 + dice.below(4);
        for (std::size_t i = 0; i < changes; ++i) {
            const std::size_t at = dice.below(text.size());
            const char byte = bytes[dice.below(bytes.size())];
            switch (dice.below(3)) {
            case 0:
                text[at] = byte;
                break;
            case 1:
                text.insert(at, 1 + dice.below(5), byte);
                break;
            default:
                text.erase(at, 1 + dice.below(20));
            }
        }
        ASSERT_TRUE(survives(text, "signatures.yaml")) << "round " << round << ":\n" << text;
    }
}

} // namespace
} // namespace rekindle::doctor
