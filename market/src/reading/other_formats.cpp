#include "reading/other_formats.h"

#include "reading/byte_stream.h"
#include "reading/text_source.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

namespace rekindle::market::reading {

namespace {

using namespace std::string_view_literals;

/// A format that begins with these bytes at `offset`.
struct OtherFormat {
    std::string_view beginning;
    std::string_view what;
    std::string_view advice;
    std::size_t offset = 0;
};

constexpr std::string_view unpack_first =
    "Decompress it first. Files compressed with gzip or zstd can be read directly.";
constexpr std::string_view with_pandas_feather =
    "Convert it: python -c \"import pandas; pandas.read_feather('FILE').to_csv('bars.csv')\"";
constexpr std::string_view with_pandas_pickle =
    "Convert it, if you trust its source, because loading it runs code: python -c \"import pandas; "
    "pandas.read_pickle('FILE').to_csv('bars.csv')\"";
constexpr std::string_view with_numpy =
    "Convert it: python -c \"import numpy; numpy.savetxt('bars.csv', numpy.load('FILE'), delimiter=',')\"";
constexpr std::string_view export_csv = "Export it as CSV.";

constexpr std::array other_formats{
    OtherFormat{"PK\x05\x06"sv, "an empty zip archive", "Download it again."},
    OtherFormat{"\x28\xB5\x2F\xFD"sv, "compressed twice", unpack_first},
    OtherFormat{"\xFD\x37zXZ"sv, "compressed with xz", unpack_first},
    OtherFormat{"BZh"sv, "compressed with bzip2", unpack_first},
    OtherFormat{"\x04\x22\x4D\x18"sv, "compressed with lz4", unpack_first},
    OtherFormat{"7z\xBC\xAF"sv, "a 7-Zip archive", unpack_first},
    OtherFormat{"Rar!"sv, "a RAR archive", unpack_first},
    OtherFormat{"\x1F\x9D"sv, "compressed with compress", unpack_first},
    OtherFormat{"\x5D\x00\x00"sv, "compressed with LZMA (Dukascopy's bi5, for example)",
                "Decompress and convert it to CSV; Dukascopy's own export writes CSV."},
    OtherFormat{"ustar"sv, "a tar archive", "Extract it first.", 257},
    OtherFormat{"PAR1"sv, "a Parquet file inside another file", unpack_first},
    OtherFormat{"ARROW1"sv, "an Arrow file (Feather)", with_pandas_feather},
    OtherFormat{"FEA1"sv, "a Feather file, version 1", with_pandas_feather},
    OtherFormat{"\xFF\xFF\xFF\xFF"sv, "an Arrow stream",
                "Convert it: python -c \"import pyarrow.ipc as ipc; "
                "ipc.open_stream('FILE').read_pandas().to_csv('bars.csv')\""},
    OtherFormat{"ORC"sv, "an ORC file",
                "Convert it: python -c \"import pandas; pandas.read_orc('FILE').to_csv('bars.csv')\""},
    OtherFormat{"Obj\x01"sv, "an Avro file", export_csv},
    OtherFormat{"\x89HDF"sv, "an HDF5 file",
                "Convert it: python -c \"import pandas; pandas.read_hdf('FILE').to_csv('bars.csv')\""},
    OtherFormat{"\xD0\xCF\x11\xE0"sv, "a spreadsheet (Excel, .xls)", "Save it as CSV."},
    OtherFormat{"SQLite format 3\0"sv, "an SQLite database",
                "Export the table: sqlite3 -header -csv FILE 'SELECT * FROM TABLE' > bars.csv"},
    OtherFormat{"DUCK"sv, "a DuckDB database",
                "Export the table: duckdb FILE -c \"COPY TABLE_NAME TO 'bars.csv' (HEADER)\"", 8},
    OtherFormat{"(C)opyright"sv, "MetaTrader's history (HST)",
                "In MetaTrader: Tools > History Center > Export.", 4},
    OtherFormat{"\x93NUMPY"sv, "a NumPy array", with_numpy},
    OtherFormat{"\x80\x02"sv, "a Python pickle", with_pandas_pickle},
    OtherFormat{"\x80\x03"sv, "a Python pickle", with_pandas_pickle},
    OtherFormat{"\x80\x04"sv, "a Python pickle", with_pandas_pickle},
    OtherFormat{"\x80\x05"sv, "a Python pickle", with_pandas_pickle},
    OtherFormat{"RDX3\n"sv, "R data", "In R: write.csv(OBJECT, 'bars.csv', row.names = FALSE)"},
    OtherFormat{"X\n\x00\x00"sv, "R data", "In R: write.csv(readRDS('FILE'), 'bars.csv', row.names = FALSE)"},
    OtherFormat{"MATLAB 5.0"sv, "a MATLAB file", "In MATLAB: writetable(TABLE, 'bars.csv')"},
    OtherFormat{"<stata_dta>"sv, "a Stata file", export_csv},
    OtherFormat{"r\x01\x01\x00"sv, "a Stata file", export_csv},
    OtherFormat{"r\x02\x01\x00"sv, "a Stata file", export_csv},
    OtherFormat{"%PDF-"sv, "a PDF file", "Look for the same data as CSV."},
};
constexpr OtherFormat web_page{"<", "a web page", "The download returned a web page instead of the file."};
constexpr OtherFormat xml{"<?xml", "XML", export_csv};
constexpr OtherFormat json{"{", "JSON",
                           "Request CSV instead, or convert it: python -c \"import pandas; "
                           "pandas.read_json('FILE').to_csv('bars.csv')\""};
constexpr OtherFormat json_lines{"{", "JSON lines (JSONL)",
                                 "Convert it: python -c \"import pandas; pandas.read_json('FILE', "
                                 "lines=True).to_csv('bars.csv')\""};
constexpr OtherFormat zip{"PK", "a zip archive inside another file", "Extract it first."};
constexpr OtherFormat workbook{"PK", "a spreadsheet (Excel, .xlsx)", "Save it as CSV."};
constexpr OtherFormat open_document{"PK", "a spreadsheet (OpenDocument, .ods)", "Save it as CSV."};
constexpr OtherFormat arrays{"PK", "NumPy arrays (.npz)",
                             "Convert the array that holds the bars: python -c \"import numpy; "
                             "numpy.savetxt('bars.csv', numpy.load('FILE')['NAME'], delimiter=',')\""};

/// Tells a zip archive's format from the names of its first entries.
const OtherFormat& kind_of_archive(std::string_view text) {
    const std::string_view names = text.substr(0, 4096);
    if (names.find("[Content_Types].xml") != std::string_view::npos ||
        names.find("xl/") != std::string_view::npos)
        return workbook;
    if (names.find("mimetypeapplication/vnd.oasis.opendocument.spreadsheet") != std::string_view::npos)
        return open_document;
    return names.substr(0, 256).find(".npy") != std::string_view::npos ? arrays : zip;
}

/// Whether the first line is one JSON object and the next line begins another.
bool has_object_per_line(std::string_view text) {
    const std::size_t end = text.find('\n');
    const std::string_view line = trim(text.substr(0, end));
    if (end == std::string_view::npos || !line.ends_with('}'))
        return false;
    const std::string_view next = text.substr(end + 1, text.find('\n', end + 1) - end - 1);
    return next.starts_with('{');
}

const OtherFormat* markup_of(std::string_view text) {
    const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n\xEF\xBB\xBF"), text.size());
    const std::string first = lower_case(text.substr(begin, 9));
    if (first == "<!doctype" || first.starts_with("<html") || first.starts_with("<table"))
        return &web_page;
    if (first.starts_with("<?xml"))
        return &xml;
    if (first.starts_with('{'))
        return has_object_per_line(text.substr(begin)) ? &json_lines : &json;
    return first.starts_with('[') ? &json : nullptr;
}

const OtherFormat* other_format_of(std::string_view text) {
    if (text.starts_with("PK\x03\x04"))
        return &kind_of_archive(text);
    const auto known = std::ranges::find_if(other_formats, [&](const OtherFormat& format) {
        return text.size() > format.offset && text.substr(format.offset).starts_with(format.beginning);
    });
    return known != other_formats.end() ? &*known : markup_of(text);
}

[[noreturn]] void refuse(const std::filesystem::path& path, const OtherFormat& other) {
    std::string advice(other.advice);
    if (const std::size_t name = advice.find("FILE"); name != std::string::npos)
        advice.replace(name, 4, path.string());
    throw usage_error(fmt::format("the file is {}", other.what))
        .at(path.string())
        .expected("lines of text, plain or compressed with gzip, zstd or zip")
        .hint(std::move(advice));
}

} // namespace

void require_archive_of_text(const std::filesystem::path& path, std::string_view archive) {
    if (const OtherFormat& kind = kind_of_archive(archive); &kind != &zip)
        refuse(path, kind);
}

void require_text(const std::filesystem::path& path, std::string_view text) {
    if (const OtherFormat* other = other_format_of(text))
        refuse(path, *other);
    if (path.extension() == ".gz" && text.starts_with('\x1F'))
        throw cut_short(path, "gzip");
    if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
        throw usage_error("the text is UTF-16")
            .at(path.string())
            .expected("UTF-8 or ASCII")
            .hint("Save it again as UTF-8, for example: iconv -f UTF-16 -t UTF-8");
    if (text.substr(0, max_line_length).find('\0') != std::string_view::npos)
        throw usage_error("the file is not text: it contains NUL bytes")
            .at(path.string())
            .expected("lines of text, plain or compressed with gzip, zstd or zip");
}

} // namespace rekindle::market::reading
