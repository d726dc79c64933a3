#include "review/version.h"

#include <rekindle/doctor/review.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace rekindle::doctor {
namespace {

const MatrixRow* row(const std::vector<MatrixRow>& rows, std::string_view torch, std::string_view index) {
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const MatrixRow& one) {
        return one.torch == torch && one.index == index;
    });
    return found == rows.end() ? nullptr : &*found;
}

TEST(SupportMatrix, NewestTorchFirstAndEveryRowWithItsSource) {
    const std::vector<MatrixRow> rows = support_matrix("", embedded_knowledge());
    ASSERT_GT(rows.size(), 50u);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_FALSE(rows[i].evidence.empty());
        EXPECT_FALSE(rows[i].checked.empty());
        if (i > 0) {
            EXPECT_GE(compare_versions(rows[i - 1].torch, rows[i].torch), 0)
                << rows[i - 1].torch << " " << rows[i].torch;
        }
    }
}

TEST(SupportMatrix, ATargetInTheWheelsNeedsNoOverride) {
    const std::vector<MatrixRow> rows = support_matrix("gfx1100", embedded_knowledge());
    const MatrixRow* known = row(rows, "2.5.1", "rocm6.2");
    ASSERT_NE(known, nullptr);
    EXPECT_TRUE(known->contains);
    EXPECT_EQ(known->by_override, "");
    EXPECT_NE(std::find(known->python.begin(), known->python.end(), "3.12"), known->python.end());
    EXPECT_EQ(row(rows, "2.5.1", "rocm6.3"), nullptr);
    EXPECT_TRUE(std::none_of(rows.begin(), rows.end(),
                             [](const MatrixRow& one) { return one.index.starts_with("cu"); }));
}

TEST(SupportMatrix, RowsNameTheCompanionsAndTheSystems) {
    const std::vector<MatrixRow> rows = support_matrix("", embedded_knowledge());
    const MatrixRow* older = row(rows, "2.9.1", "rocm6.4");
    ASSERT_NE(older, nullptr);
    EXPECT_EQ(older->torchvision, "0.24.1");
    EXPECT_EQ(older->torchaudio, "2.9.1");
    EXPECT_EQ(older->systems, std::vector<std::string>{"linux"});
    const MatrixRow* newest = row(rows, "2.15.0", "cu132");
    ASSERT_NE(newest, nullptr);
    EXPECT_EQ(newest->torchvision, "0.29.2");
    EXPECT_EQ(newest->torchaudio, "2.11.0");
    EXPECT_EQ(newest->systems.size(), 2U);
    for (const MatrixRow& one : rows)
        EXPECT_TRUE(one.torch.empty() || !one.torchvision.empty()) << one.torch << " " << one.index;
}

TEST(SupportMatrix, SafeOverridesAreOfferedAndUnsafeOnesWarnedAgainst) {
    const std::vector<MatrixRow> rdna2 = support_matrix("gfx1031", embedded_knowledge());
    const MatrixRow* by_override = row(rdna2, "2.8.0", "rocm6.4");
    ASSERT_NE(by_override, nullptr);
    EXPECT_FALSE(by_override->contains);
    EXPECT_TRUE(by_override->by_override.starts_with("HSA_OVERRIDE_GFX_VERSION=10.3.0 (safe"))
        << by_override->by_override;

    const std::vector<MatrixRow> rdna1 = support_matrix("gfx1010", embedded_knowledge());
    const MatrixRow* never = row(rdna1, "2.8.0", "rocm6.4");
    ASSERT_NE(never, nullptr);
    EXPECT_FALSE(never->contains);
    EXPECT_EQ(never->by_override, "");
    EXPECT_NE(never->note.find("unsafe"), std::string::npos) << never->note;
    EXPECT_TRUE(std::any_of(rdna1.begin(), rdna1.end(), [](const MatrixRow& one) {
        return one.contains && one.note.find("torch[device-gfx1010]") != std::string::npos;
    }));
}

TEST(SupportMatrix, CudaTargetsListOnlyCudaIndexes) {
    const std::vector<MatrixRow> rows = support_matrix("sm_120", embedded_knowledge());
    ASSERT_FALSE(rows.empty());
    for (const MatrixRow& one : rows)
        EXPECT_TRUE(one.index.starts_with("cu")) << one.index;
    const MatrixRow* old = row(rows, "2.6.0", "cu124");
    ASSERT_NE(old, nullptr);
    EXPECT_FALSE(old->contains);
}

TEST(VersionPattern, FormsInDocuments) {
    EXPECT_TRUE(VersionPattern::parse("2.5.x")->matches("2.5.1"));
    EXPECT_FALSE(VersionPattern::parse("2.5.x")->matches("2.6.0"));
    EXPECT_TRUE(VersionPattern::parse("2.5")->matches("2.5.1"));
    EXPECT_FALSE(VersionPattern::parse("2.1")->matches("2.10.0"));
    EXPECT_TRUE(VersionPattern::parse("6.3+")->matches("7.0"));
    EXPECT_TRUE(VersionPattern::parse("2.6.x+")->matches("2.14.0"));
    EXPECT_TRUE(VersionPattern::parse("6.2.0")->overlaps("6.2"));
    EXPECT_FALSE(VersionPattern::parse("2"));
    EXPECT_FALSE(VersionPattern::parse("x.y"));
    EXPECT_LT(compare_versions("2.9.1", "2.10.0"), 0);
}

TEST(SupportMatrix, ARowNamesOnlySystemsThatHaveTheTarget) {
    const auto row_of = [](const std::string& gfx) {
        const std::vector<MatrixRow> rows = support_matrix(gfx, embedded_knowledge());
        const auto row = std::find_if(rows.begin(), rows.end(),
                                      [](const MatrixRow& one) { return one.index == "therock"; });
        return row == rows.end() ? MatrixRow{} : *row;
    };
    EXPECT_EQ(row_of("gfx942").systems, std::vector<std::string>{"linux"});
    EXPECT_EQ(row_of("gfx1100").systems, (std::vector<std::string>{"linux", "windows"}));
    EXPECT_EQ(row_of("gfx1100").note.find("not tested"), std::string::npos);
    EXPECT_NE(row_of("gfx1201").note.find("built for Windows, but not tested"), std::string::npos);
}

} // namespace
} // namespace rekindle::doctor
