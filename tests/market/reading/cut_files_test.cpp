/// Truncated files, files in other compression formats, and other files in a folder of bars.

#include "reading/reading_support.h"

#include <rekindle/base/philox.h>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>

namespace rekindle::market {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

std::string error_of_options(const ReadOptions& options) {
    try {
        read_with(options, 2);
    } catch (const Error& error) {
        return error.render();
    }
    return "";
}

// A text of many pieces, cut at every size near both ends and at many sizes in between.
TEST(CutFiles, GzipCutAnywhereIsReported) {
    const std::string whole = packed(simulated_text(60'000));
    ASSERT_GT(whole.size(), 500'000u);
    const TestFolder folder;
    for (std::size_t size = 1; size < whole.size();
         size +=
         size < 60 || size + 12 > whole.size() ? 1 : std::min(whole.size() / 12, whole.size() - size - 10)) {
        ReadOptions options = options_for(folder.write("a.csv.gz", whole.substr(0, size)));
        EXPECT_THAT(error_of_options(options), HasSubstr("cut short")) << size;
        options.chunk_size = 1000;
        options.column_file = folder.path() / "bars.columns";
        if (size % 7 == 0) {
            EXPECT_THAT(error_of_options(options), HasSubstr("cut short")) << size;
        }
        options = options_for(folder.write("bars.csv", bars_header + "2024-12-12 05:01:00,1,1,1,1,1\n"));
        options.vix = folder.path() / "a.csv.gz";
        EXPECT_THAT(error_of_options(options), AnyOf(HasSubstr("cut short"), HasSubstr("not a VIX file")));
    }
}

// A program that compresses in parallel can end a member inside a row.
TEST(CutFiles, GzipThatEndsBetweenTwoMembersIsReported) {
    const std::string text = bars_header + "2024-12-12 05:01:00,1,1,1,1,1\n2024-12-12 05:02:00,1,1,1,1,1\n";
    for (std::size_t at = bars_header.size() + 31; at < text.size() - 1; ++at) {
        ReadOptions options;
        const std::string message = error_of(packed(text.substr(0, at)), options, "a.csv.gz");
        if (text[at - 1] == '\n') {
            EXPECT_EQ(message, "");
        } else {
            EXPECT_THAT(message, HasSubstr("cut off")) << at;
        }
    }
}

TEST(CutFiles, PlainFilesCutWithinARowAreReported) {
    std::string text = bars_header;
    for (int minute = 10; minute < 60; ++minute)
        text += fmt::format("2024-12-12 05:{:02}:00,100.25,101.25,99.25,100.50,7\n", minute);
    const std::size_t last_row = text.rfind("2024-");
    for (const std::string& ends : {std::string("\n"), std::string("\r\n")}) {
        std::string written = text;
        for (std::size_t at = 0; ends != "\n" && (at = written.find('\n', at)) != std::string::npos; at += 2)
            written.replace(at, 1, ends);
        for (std::size_t size = written.size() - 48; size < written.size(); ++size) {
            const std::string cut = written.substr(0, size);
            const std::string last = cut.substr(cut.rfind('\n') + 1);
            const std::string message = error_of(cut);
            const bool whole = last.empty() || last.ends_with(",7") || last.ends_with(",7\r");
            if (whole) {
                EXPECT_EQ(message, "") << last;
            } else {
                EXPECT_THAT(message, testing::AllOf(HasSubstr("bars.csv:51:"), HasSubstr("cut off"))) << last;
            }
        }
    }
    EXPECT_GT(last_row, bars_header.size());
    // In the middle of a file the same row is just a bad row, not a cut.
    EXPECT_THAT(error_of(text.substr(0, last_row + 22) + "\n"), testing::Not(HasSubstr("cut off")));
}

TEST(CutFiles, OtherFormatsAreNamed) {
    for (const auto& [name, beginning, what] :
         {std::tuple{"b.zip", std::string("PK\x05\x06\0\0\0\0", 8), "an empty zip archive"},
          {"b.csv.xz", std::string("\xFD\x37zXZ\0\0\x04", 8), "compressed with xz"},
          {"b.csv.bz2", std::string("BZh91AY&SY"), "compressed with bzip2"},
          {"b.csv.lz4", std::string("\x04\x22\x4D\x18\x64\x40"), "compressed with lz4"},
          {"b.csv.Z", std::string("\x1F\x9D\x90"), "compressed with compress"},
          {"b.7z", std::string("7z\xBC\xAF\x27\x1C"), "a 7-Zip archive"},
          {"b.rar", std::string("Rar!\x1A\x07\x01\0", 8), "a RAR archive"},
          {"b.feather", std::string("ARROW1\0\0", 8), "an Arrow file"},
          {"b.h5", std::string("\x89HDF\r\n\x1A\n"), "an HDF5 file"},
          {"b.pdf", std::string("%PDF-1.4\n"), "a PDF file"},
          {"b.csv", std::string("<!DOCTYPE html><html>Not found</html>\n"), "a web page"},
          {"c.csv", std::string("\xEF\xBB\xBF\n <!doctype html>\n"), "a web page"},
          {"d.csv", std::string("<HTML>Not found</HTML>\n"), "a web page"},
          {"b.arrow", std::string("\xFF\xFF\xFF\xFF\x10\x02\0\0", 8), "an Arrow stream"},
          {"b1.feather", std::string("FEA1\0\0\0\0", 8), "a Feather file, version 1"},
          {"b.orc", std::string("ORC\x0A"), "an ORC file"},
          {"b.avro", std::string("Obj\x01\x04"), "an Avro file"},
          {"b.db", std::string("SQLite format 3\0\x10\0", 18), "an SQLite database"},
          {"b.duckdb", std::string("\x11\x22\x33\x44\x55\x66\x77\x01") + "DUCK", "a DuckDB database"},
          {"EURUSD.hst", std::string("\x91\x01\0\0(C)opyright 2003, MetaQuotes", 30), "MetaTrader's history"},
          {"b.npy", std::string("\x93NUMPY\x01\0", 8), "a NumPy array"},
          {"b.npz", "PK\x03\x04" + std::string(26, '\x02') + "arr_0.npy", "NumPy arrays"},
          {"b.xlsx", "PK\x03\x04" + std::string(26, '\x02') + "[Content_Types].xml", "a spreadsheet"},
          {"b.pkl", std::string("\x80\x04\x95\x10\x02", 5), "a Python pickle"},
          {"b.bi5", std::string("\x5D\0\0\x80\0", 5), "compressed with LZMA"},
          {"b.json", std::string("{\"Meta Data\": {"), "JSON"},
          {"c.json", std::string(" [[1704067200000, "), "JSON"},
          {"b.jsonl", std::string("{\"t\": 1, \"o\": 2}\n{\"t\": 2, \"o\": 2}\n"), "JSON lines"},
          {"b.ods",
           "PK\x03\x04" + std::string(26, '\x02') + "mimetypeapplication/vnd.oasis.opendocument.spreadsheet",
           "a spreadsheet (OpenDocument"},
          {"b.xml", std::string("<?xml version=\"1.0\"?>"), "XML"},
          {"b.xls", std::string("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"), "a spreadsheet"}}) {
        const std::string content = beginning + std::string(100, '\x01');
        const TestFolder folder;
        ReadOptions with_vix =
            options_for(folder.write("bars.csv", bars_header + "2024-12-12 05:01:00,1,1,1,1,1\n"));
        with_vix.vix = folder.write(name, content);
        for (const std::string& message : {error_of(content, {}, name), error_of_options(with_vix)}) {
            EXPECT_THAT(message, HasSubstr(fmt::format("{}: the file is {}", name, what)));
            EXPECT_THAT(message, AnyOf(HasSubstr("ecompress"), HasSubstr("CSV"), HasSubstr("csv"),
                                       HasSubstr("ownload"), HasSubstr("xtract it"), HasSubstr("Export")));
        }
    }
    EXPECT_THAT(error_of(packed("PAR1\x15\x04"), {}, "b.gz"),
                HasSubstr("the file is a Parquet file inside another file"));
    EXPECT_THAT(error_of("\x1F", {}, "b.csv.gz"), HasSubstr("cut short"));
    EXPECT_THAT(error_of("", {}, "b.csv.gz"), HasSubstr("the file is empty"));
    EXPECT_THAT(error_of(packed(""), {}, "b.csv.gz"), HasSubstr("no rows"));
}

TEST(Folders, ReportWhichFilesAreNotRead) {
    const TestFolder folder;
    folder.write("es-2023.csv", bars_header + "2023-12-12 05:01:00,1,1,1,1,1\n");
    EXPECT_THAT(read_with(options_for(folder.path())).report.notes,
                testing::Not(testing::Contains(HasSubstr("Not read"))));
    folder.write("es-2024.csv.bz2", "x");
    folder.write("es-2025.rar", "x");
    folder.write(".hidden", "x");
    EXPECT_THAT(read_with(options_for(folder.path())).report.notes,
                testing::Contains(HasSubstr("es-2024.csv.bz2, es-2025.rar.")));
}

} // namespace
} // namespace rekindle::market
