#include "process.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <paths.h>

namespace rekindle::cli {
namespace {

Finished review(const std::string& document, const std::string& content) {
    const TemporaryFolder folder;
    return rekindle({"doctor", "--review", folder.file(document, content)});
}

std::size_t position(const Finished& finished, std::string_view part) {
    const std::size_t at = finished.output.find(part);
    EXPECT_NE(at, std::string::npos) << part << " is missing in\n" << finished.output;
    return at;
}

TEST(DoctorReview, HarmfulComesFirstAndEachStatementOnce) {
    const Finished finished = review(
        "a.md", "gfx1100\n\nexport HIPBLAS_LAYER=1\n\nrm -rf /opt/rocm\n\ngfx1100\n\nrm -rf /opt/rocm\n");
    EXPECT_EQ(finished.status, 1);
    EXPECT_TRUE(finished.output.starts_with("5 items checked, 3 statements: 2 harmful, 1 no effect, 2 true.\n"
                                            "Do not follow: rm -rf /opt/rocm (lines 5, 9)\n-v shows "))
        << finished.output;
    EXPECT_LT(position(finished, "Harmful\n  lines 5, 9: rm -rf /opt/rocm\n"),
              position(finished, "Without effect\n  line 3: HIPBLAS_LAYER=1\n"));
    EXPECT_LT(position(finished, "Without effect"), position(finished, "True\n  lines 1, 7: gfx1100\n"));
}

TEST(DoctorReview, NothingFalse) {
    const Finished finished = review("a.md", "gfx1100\n");
    EXPECT_EQ(finished.status, 0);
    EXPECT_TRUE(contains(finished.output, "Nothing false or harmful was found.\n")) << finished.output;
}

/// Bytes of the reviews of tests/doctor/data/review before statements were grouped, 80 columns wide.
TEST(DoctorReview, TakesAtMostAThirdOfItsFormerLength) {
    constexpr std::array<std::size_t, 5> former{19257, 55821, 6959, 42400, 17565};
    for (std::size_t i = 0; i < former.size(); ++i) {
        const std::string file =
            std::string(test::data_folder) + "/../../doctor/data/review/seed-00" + std::to_string(i) + ".txt";
        const Finished finished = rekindle({"doctor", "--review", file});
        EXPECT_EQ(finished.status, 1);
        EXPECT_LE(finished.output.size(), former.at(i) / 3) << file;
        EXPECT_LE(finished.output.size(), std::filesystem::file_size(file)) << "longer than the document";
    }
}

} // namespace
} // namespace rekindle::cli
