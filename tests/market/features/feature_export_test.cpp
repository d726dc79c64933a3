#include "features/feature_testing.h"
#include "temporary_folder.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/market/feature_export.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace rekindle::market {
namespace {

class FeatureExport : public ::testing::Test {
  protected:
    std::filesystem::path file() const { return folder_ / "features"; }

    static FeatureMatrix matrix() {
        FeatureMatrix made;
        made.names = {"a", "b", "c"};
        made.values = {0.1, -2, 1e300, 1.0 / 3, 5e-324, 6149.25};
        made.known_at = {1734382800, -1};
        made.dates = {20073, -1};
        made.source = {50, 51};
        return made;
    }

  private:
    const test::TemporaryFolder folder_;
};

TEST_F(FeatureExport, CsvIsExact) {
    write_features_csv(file(), matrix(), {});
    EXPECT_EQ(read_file(file()), "date,known_at,a,b,c\n"
                                 "2024-12-16,2024-12-16T21:00:00Z,0.1,-2,1e+300\n"
                                 "1969-12-31,1969-12-31T23:59:59Z,0.3333333333333333,5e-324,6149.25\n");
}

TEST_F(FeatureExport, CsvWithTimestampsWithoutAKnownZone) {
    write_features_csv(file(), matrix(), {}, "");
    EXPECT_NE(read_file(file()).find("2024-12-16T21:00:00,0.1"), std::string::npos);
}

TEST_F(FeatureExport, NpyHasHeaderAndData) {
    write_features_npy(file(), matrix(), NpyType::float64);
    const std::string bytes = read_file(file());
    ASSERT_GE(bytes.size(), 10u);
    EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
    const std::size_t header =
        static_cast<unsigned char>(bytes[8]) + 256u * static_cast<unsigned char>(bytes[9]);
    EXPECT_EQ((10 + header) % 64, 0u);
    EXPECT_EQ(trim(bytes.substr(10, header - 1)),
              "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }");
    EXPECT_EQ(bytes[10 + header - 1], '\n');
    const auto values = matrix().values;
    ASSERT_EQ(bytes.size(), 10 + header + values.size() * sizeof(double));
    EXPECT_EQ(std::memcmp(bytes.data() + 10 + header, values.data(), values.size() * sizeof(double)), 0);
}

TEST_F(FeatureExport, NpyInFloat32) {
    FeatureMatrix small = matrix();
    small.values[2] = 3.25;
    write_features_npy(file(), small, NpyType::float32);
    const std::string bytes = read_file(file());
    EXPECT_NE(bytes.find("'<f4'"), std::string::npos);
    float last = 0;
    std::memcpy(&last, bytes.data() + bytes.size() - sizeof last, sizeof last);
    EXPECT_EQ(last, 6149.25f);
}

TEST_F(FeatureExport, Float32RejectsAndNamesValuesThatDoNotFit) {
    try {
        write_features_npy(file(), matrix(), NpyType::float32);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.message(), "feature c has the value 1e+300 in row 0");
    }
    EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(FeatureExport, NamesAFolderThatDoesNotExist) {
    const auto target = file() / "missing" / "features.csv";
    try {
        write_features_csv(target, matrix(), {});
        FAIL();
    } catch (const Error& error) {
        EXPECT_NE(error.render().find("missing"), std::string::npos);
    }
}

} // namespace
} // namespace rekindle::market
