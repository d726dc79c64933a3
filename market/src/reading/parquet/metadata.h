#pragma once
/// The metadata at the end of a Parquet file and in front of each page
/// (https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::market::parquet {

enum class Physical { boolean, int32, int64, int96, real32, real64, byte_array, fixed_byte_array };

/// How the values of a column are written as text.
enum class Logical {
    plain,            ///< as the physical type says
    unsigned_integer, ///< an integer without a sign
    text,
    decimal,     ///< an integer times 10^-scale, big-endian if its bytes are an array
    date,        ///< days since 1970
    time_of_day, ///< `per_second` units since midnight
    timestamp,   ///< `per_second` units since 1970
    other, ///< values that Rekindle does not read, such as UUIDs, half-precision floats and bytes of a fixed
           ///< number
};

enum class Codec { none = 0, snappy = 1, gzip = 2, lzo = 3, brotli = 4, lz4_hadoop = 5, zstd = 6, lz4 = 7 };

/// A column at the top level of the schema.
struct Column {
    std::string name;
    Physical physical = Physical::int64;
    Logical logical = Logical::plain;
    std::size_t length = 0; ///< of a fixed_byte_array, in bytes
    int scale = 0;          ///< of a decimal
    std::int64_t per_second = 1;
    bool utc = false;      ///< a timestamp is an instant, not a local time
    bool optional = false; ///< values may be missing
    bool nested = false;   ///< a list or a structure, which is not read
    std::size_t leaf = 0;  ///< index of its chunk in each row group
};

/// The pages of one column in one row group.
struct Chunk {
    Codec codec = Codec::none;
    std::uint64_t begin = 0; ///< in bytes
    std::uint64_t end = 0;
    std::int64_t values = 0;
};

struct RowGroup {
    std::int64_t rows = 0;
    std::vector<Chunk> chunks; ///< by Column::leaf
};

struct FileMetadata {
    std::vector<Column> columns;
    std::vector<RowGroup> groups;
    std::int64_t rows = 0;
};

/// Reads the metadata of a whole file, and checks every size and position against the file. Throws Damage or
/// Unsupported.
FileMetadata read_metadata(std::string_view file);

enum class PageKind { data, dictionary, data_v2, other };

enum class Encoding {
    plain = 0,
    plain_dictionary = 2,
    run_length = 3,
    bit_packed = 4,
    delta_binary_packed = 5,
    delta_length_byte_array = 6,
    delta_byte_array = 7,
    dictionary = 8,
    byte_stream_split = 9,
};

struct PageHeader {
    PageKind kind = PageKind::other;
    std::size_t header_size = 0;  ///< in bytes
    std::size_t stored_size = 0;  ///< of the page that follows, in bytes
    std::size_t decoded_size = 0; ///< after decompression
    bool has_checksum = false;
    std::uint32_t checksum = 0; ///< CRC-32 of the stored bytes
    std::size_t values = 0;     ///< including missing ones
    Encoding encoding = Encoding::plain;
    Encoding level_encoding = Encoding::run_length;
    std::size_t level_size = 0; ///< data_v2: bytes of the levels, which are not compressed
    bool compressed = true;     ///< data_v2: whether the values are
};

/// Reads the header at the beginning of `bytes`. Throws Damage.
PageHeader read_page_header(std::string_view bytes);

} // namespace rekindle::market::parquet
