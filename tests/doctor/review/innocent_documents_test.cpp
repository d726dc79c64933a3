/// Documents that say nothing false (data/innocent/): users would not trust a review that marks them.

#include <rekindle/doctor/review.h>
#include <rekindle/foundation/file.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace rekindle::doctor {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> documents() {
    std::vector<fs::path> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(test::data_folder) / "innocent"))
        files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

TEST(InnocentDocuments, NothingIsMarkedFalse) {
    EXPECT_GE(documents().size(), 30U);
    for (const fs::path& file : documents())
        for (const Mark& mark : review_document(read_file(file), embedded_knowledge()))
            EXPECT_TRUE(mark.verdict == Verdict::holds || mark.verdict == Verdict::unknown)
                << file.filename() << ':' << mark.line << ": \"" << mark.text << "\": " << mark.reason;
}

/// A document about neither ROCm nor an AMD GPU: only a percentage that promises what nobody can know may
/// be marked.
TEST(InnocentDocuments, WithoutAnAmdGpuNoClaimIsMarked) {
    const auto& claims = embedded_knowledge().claims;
    const auto promise = std::find_if(claims.begin(), claims.end(),
                                      [](const Claim& claim) { return claim.id == "success-rates"; });
    ASSERT_NE(promise, claims.end());
    for (const char* name :
         {"model-card-resnet", "readme-dataset-tool", "paper-summary", "meeting-notes",
          "medical-imaging-readme", "recommendation-email", "cloud-pricing", "kubernetes-runbook",
          "contributing", "experiment-diary", "thesis-chapter", "roadmap"})
        for (const Mark& mark : review_document(
                 read_file(fs::path(test::data_folder) / "innocent" / (std::string(name) + ".md")),
                 embedded_knowledge()))
            EXPECT_TRUE(mark.kind != "claim" || mark.reason == promise->correction)
                << name << ':' << mark.line << ": " << mark.text;
}

TEST(InnocentDocuments, AHarmlessPercentageIsNotMarked) {
    EXPECT_TRUE(
        review_document("Our pipeline is 100 % functional on the A100.", embedded_knowledge()).empty());
}

} // namespace
} // namespace rekindle::doctor
