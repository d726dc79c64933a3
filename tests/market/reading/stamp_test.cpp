#include "reading/stamp.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ctime>

namespace rekindle::market::reading {
namespace {

// The C library is the reference for every day of three centuries.
TEST(Stamp, DaysAgreeWithTheCLibrary) {
    for (std::int64_t day = -25'567; day < 84'000; ++day) {
        const std::time_t instant = day * 86400;
        std::tm parts{};
        ::gmtime_r(&instant, &parts);
        ASSERT_EQ(days_from_civil(parts.tm_year + 1900, static_cast<unsigned>(parts.tm_mon + 1),
                                  static_cast<unsigned>(parts.tm_mday)),
                  day);
    }
}

struct LabelCase {
    const char* text;
    const char* iso; ///< the same label in a form that the C library reads
    std::int32_t offset;
};

std::int64_t label_of(const char* iso) {
    std::tm parts{};
    EXPECT_NE(::strptime(iso, "%Y-%m-%d %H:%M:%S", &parts), nullptr) << iso;
    return ::timegm(&parts);
}

TEST(Stamp, EveryFormat) {
    for (const LabelCase& c : {
             LabelCase{"2021-12-05 16:31:00", "2021-12-05 16:31:00", 0},
             LabelCase{"2021-12-05T16:31:00", "2021-12-05 16:31:00", 0},
             LabelCase{"2021-12-05 16:31", "2021-12-05 16:31:00", 0},
             LabelCase{"2021-12-05 16:31:07.000", "2021-12-05 16:31:07", 0},
             LabelCase{"2021-12-05T16:31:00Z", "2021-12-05 16:31:00", 0},
             LabelCase{"2021-12-05 16:31:00-05:00", "2021-12-05 16:31:00", -18000},
             LabelCase{"2021-12-05 16:31:00.000000+0530", "2021-12-05 16:31:00", 19800},
             LabelCase{"2021-12-05", "2021-12-05 00:00:00", 0},
             LabelCase{"20211205 163100", "2021-12-05 16:31:00", 0},
             LabelCase{"20211205", "2021-12-05 00:00:00", 0},
             LabelCase{"12/5/2021", "2021-12-05 00:00:00", 0},
             LabelCase{"12/05/2021 16:31", "2021-12-05 16:31:00", 0},
             LabelCase{"1/4/1999 9:30:00", "1999-01-04 09:30:00", 0},
             LabelCase{"1/4/1999 12:05:00 AM", "1999-01-04 00:05:00", 0},
             LabelCase{"1/4/1999 12:05 PM", "1999-01-04 12:05:00", 0},
             LabelCase{"1/4/1999 4:00 pm", "1999-01-04 16:00:00", 0},
             LabelCase{"2024-02-29 23:59:59", "2024-02-29 23:59:59", 0},
             LabelCase{"2000-02-29", "2000-02-29 00:00:00", 0},
             LabelCase{"2021.12.05 16:31", "2021-12-05 16:31:00", 0},
             LabelCase{"2021/12/05", "2021-12-05 00:00:00", 0},
             LabelCase{"2021/1/5 16:31:00", "2021-01-05 16:31:00", 0},
             LabelCase{"2021-1-5", "2021-01-05 00:00:00", 0},
             LabelCase{"2021-1-5 02:30:00.000000", "2021-01-05 02:30:00", 0},
             LabelCase{"2021.1.5 16:31", "2021-01-05 16:31:00", 0},
             LabelCase{"20211205  16:31:00", "2021-12-05 16:31:00", 0},
             LabelCase{"1638721860", "2021-12-05 16:31:00", 0},
             LabelCase{"1638721860.0", "2021-12-05 16:31:00", 0},
             LabelCase{"1638721860000", "2021-12-05 16:31:00", 0},
             LabelCase{"1638721860000000", "2021-12-05 16:31:00", 0},
             LabelCase{"1638721860000000000", "2021-12-05 16:31:00", 0},
         }) {
        const auto format = recognize_stamp(c.text);
        ASSERT_TRUE(format) << c.text;
        const auto stamp = parse_stamp(*format, c.text);
        ASSERT_TRUE(stamp) << c.text;
        EXPECT_EQ(stamp->label, label_of(c.iso)) << c.text;
        EXPECT_EQ(stamp->offset, c.offset) << c.text;
    }
}

TEST(Stamp, TwoFields) {
    for (const auto& [date, time] : {std::pair{"2021-12-05", "16:31"},
                                     {"20211205", "163100"},
                                     {"12/5/2021", "4:31 PM"},
                                     {"20211205", "1631"},
                                     {"2021-12-05", "16:31:00"}}) {
        const auto format = recognize_stamp(date, time);
        ASSERT_TRUE(format) << date << time;
        EXPECT_EQ(parse_stamp(*format, date, time)->label, label_of("2021-12-05 16:31:00")) << date << time;
    }
}

TEST(Stamp, RejectsDatesAndTimesThatDoNotExist) {
    for (const char* text : {"2023-02-29",
                             "1900-02-29",
                             "2021-13-01",
                             "2021-00-10",
                             "2021-04-31",
                             "2021-12-05 24:00:00",
                             "2021-12-05 12:60:00",
                             "2021-12-05 12:00:60",
                             "2021-12-05 16:31:00.5",
                             "13/1/2021",
                             "0/1/2021",
                             "12/5/21",
                             "5/12/05",
                             "2021/13/05",
                             "163872186",
                             "16387218600",
                             "1638721860.5",
                             "1638721860001",
                             "1638721860000001",
                             "1638721860000000001",
                             "-1638721860",
                             "7258118400",
                             "",
                             "x",
                             "2021-12-05 ",
                             "20211205 16310",
                             "1/4/1999 13:00 PM",
                             "1/4/1999 0:30 AM",
                             "2021-12-05 16:31:00+15:00",
                             "2021-12-05Z",
                             "1899-12-31",
                             "2200-01-01",
                             "2021-12-05 16:31:00 UTC"})
        if (std::string_view(text) == "2021-12-05 ")
            EXPECT_TRUE(recognize_stamp(text)) << "blanks around a timestamp are allowed";
        else
            EXPECT_FALSE(recognize_stamp(text)) << text;
}

TEST(Stamp, OtherFormatsAreRejected) {
    const auto format = recognize_stamp("2021-12-05 16:31:00");
    ASSERT_TRUE(format);
    EXPECT_TRUE(parse_stamp(*format, "2021-12-05 16:31"));
    for (const char* text : {"2021-12-05", "12/05/2021 16:31:00", "2021-12-05 16:31:00Z", "20211205 163100"})
        EXPECT_FALSE(parse_stamp(*format, text)) << text;
}

TEST(Stamp, DetectsDayFirst) {
    EXPECT_TRUE(looks_like_day_first("13/4/2024"));
    EXPECT_FALSE(looks_like_day_first("12/4/2024"));
    EXPECT_FALSE(looks_like_day_first("2024-04-13"));
}

} // namespace
} // namespace rekindle::market::reading
