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

TEST(DoctorReview, AQuotationIsShortenedButNotItsPlace) {
    const std::string command =
        "RUN apt-get update && apt-get install -y " + std::string(90, 'x') + " nvidia-driver-550";
    const Finished harmful = review("Dockerfile", "FROM debian:12\n" + command + "\n");
    EXPECT_TRUE(contains(harmful.output, "... (line 2)\n")) << harmful.output;
    const Finished wrong = review("a.md", "ROCm: pip install torch==2.5.1 " + std::string(90, 'y') +
                                              " --index-url https://download.pytorch.org/whl/rocm6.3\n");
    EXPECT_TRUE(contains(wrong.output, "Worst: pip install torch==2.5.1")) << wrong.output;
    EXPECT_TRUE(contains(wrong.output, "... (line 1)\n")) << wrong.output;
    // The output of a test is ASCII: every letter of two bytes is one "?".
    std::string several = "WSL\n";
    for (int i = 0; i < 9; ++i)
        several += "\nWSL: sudo apt install " +
                   std::string(i == 0 ? "\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc" : "") +
                   " nvidia-driver-535\n";
    const Finished many = review("b.md", several);
    EXPECT_TRUE(contains(many.output, "lines 3, 5, 7, 9, 11, 13 and 3 more: ")) << many.output;
    EXPECT_TRUE(contains(many.output, "apt install ????????? nvidia-driver")) << many.output;
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
