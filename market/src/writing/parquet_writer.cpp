#include "reading/parquet/metadata.h"
#include "writing/thrift_writer.h"

#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/market/parquet_writer.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>
#include <vector>

namespace rekindle::market {

using parquet::Codec;
using parquet::Encoding;
using parquet::Physical;
using parquet::ThriftType;
using parquet::ThriftWriter;

static_assert(std::endian::native == std::endian::little, "the file is little-endian");

namespace {

constexpr std::string_view magic = "PAR1";
constexpr std::size_t group_rows = 65'536;

template <class Value>
void append(std::string& bytes, Value value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// The definition levels of a page of optional values, as one run of single bits: 1 where there is a value.
std::string definition_levels(std::span<const double> values) {
    std::string bits((values.size() + 7) / 8, '\0');
    for (std::size_t i = 0; i < values.size(); ++i)
        if (!std::isnan(values[i]))
            bits[i / 8] = static_cast<char>(bits[i / 8] | 1 << i % 8);
    std::string run;
    for (std::size_t header = bits.size() << 1 | 1; header > 0; header >>= 7)
        run += static_cast<char>((header & 0x7F) | (header > 0x7F ? 0x80 : 0));
    run += bits;
    std::string levels;
    append(levels, static_cast<std::uint32_t>(run.size()));
    return levels + run;
}

/// Writes columns of one type: the schema, and the plainly encoded values of rows [first, first + count).
template <class Values>
struct ColumnWriter;

template <>
struct ColumnWriter<ParquetInstants> {
    static constexpr Physical physical = Physical::int64;
    static constexpr bool optional = false;
    static void annotate(ThriftWriter& schema, const ParquetInstants& column) {
        constexpr int timestamp_micros = 10; // ConvertedType, which implies UTC
        if (column.utc)
            schema.integer32(6, timestamp_micros);
        schema.begin_structure(10);
        schema.begin_structure(8);
        schema.boolean(1, column.utc);
        schema.begin_structure(2);
        schema.begin_structure(2);
        for (int open = 0; open < 4; ++open)
            schema.end_structure();
    }
    static std::string page(const ParquetInstants& column, std::size_t first, std::size_t count) {
        std::string bytes;
        for (const std::int64_t seconds : column.seconds.subspan(first, count))
            append(bytes, seconds * 1'000'000);
        return bytes;
    }
};

/// Annotates a type without parameters, both as ConvertedType and as LogicalType.
void annotate_simply(ThriftWriter& schema, int converted_type, int logical_type) {
    schema.integer32(6, converted_type);
    schema.begin_structure(10);
    schema.begin_structure(logical_type);
    schema.end_structure();
    schema.end_structure();
}

template <>
struct ColumnWriter<ParquetDates> {
    static constexpr Physical physical = Physical::int32;
    static constexpr bool optional = false;
    static void annotate(ThriftWriter& schema, const ParquetDates&) { annotate_simply(schema, 6, 6); }
    static std::string page(const ParquetDates& column, std::size_t first, std::size_t count) {
        std::string bytes;
        for (const std::int32_t days : column.days.subspan(first, count))
            append(bytes, days);
        return bytes;
    }
};

template <>
struct ColumnWriter<ParquetNumbers> {
    static constexpr Physical physical = Physical::real64;
    static constexpr bool optional = true;
    static void annotate(ThriftWriter&, const ParquetNumbers&) {}
    static std::string page(const ParquetNumbers& column, std::size_t first, std::size_t count) {
        const auto values = column.values.subspan(first, count);
        std::string bytes = definition_levels(values);
        for (const double value : values)
            if (!std::isnan(value))
                append(bytes, value);
        return bytes;
    }
};

template <>
struct ColumnWriter<ParquetTexts> {
    static constexpr Physical physical = Physical::byte_array;
    static constexpr bool optional = false;
    static void annotate(ThriftWriter& schema, const ParquetTexts&) { annotate_simply(schema, 0, 1); }
    static std::string page(const ParquetTexts& column, std::size_t first, std::size_t count) {
        std::string bytes;
        for (const std::uint32_t index : column.indices.subspan(first, count)) {
            const std::string& word = column.words[index];
            append(bytes, static_cast<std::uint32_t>(word.size()));
            bytes += word;
        }
        return bytes;
    }
};

/// Calls call(writer, values) with the writer for the column's type.
template <class Call>
decltype(auto) with_writer(const ParquetColumn& column, const Call& call) {
    return std::visit(
        [&](const auto& values) {
            return call(ColumnWriter<std::remove_cvref_t<decltype(values)>>{}, values);
        },
        column.values);
}

Physical physical_type(const ParquetColumn& column) {
    return with_writer(column, [](auto writer, const auto&) { return decltype(writer)::physical; });
}

void write_schema(ThriftWriter& metadata, std::span<const ParquetColumn> columns) {
    metadata.list(2, ThriftType::structure, columns.size() + 1);
    metadata.begin_element();
    metadata.text(4, "table");
    metadata.integer32(5, static_cast<std::int64_t>(columns.size()));
    metadata.end_structure();
    for (const ParquetColumn& column : columns)
        with_writer(column, [&](auto writer, const auto& values) {
            using Writer = decltype(writer);
            metadata.begin_element();
            metadata.integer32(1, static_cast<std::int64_t>(Writer::physical));
            metadata.integer32(3, Writer::optional ? 1 : 0);
            metadata.text(4, column.name);
            Writer::annotate(metadata, values);
            metadata.end_structure();
        });
}

std::string page_header(std::size_t bytes, std::size_t rows) {
    ThriftWriter header;
    header.integer32(1, 0); // a data page of version 1
    header.integer32(2, static_cast<std::int64_t>(bytes));
    header.integer32(3, static_cast<std::int64_t>(bytes));
    header.begin_structure(5);
    header.integer32(1, static_cast<std::int64_t>(rows));
    header.integer32(2, static_cast<std::int64_t>(Encoding::plain));
    header.integer32(3, static_cast<std::int64_t>(Encoding::run_length));
    header.integer32(4, static_cast<std::int64_t>(Encoding::run_length));
    header.end_structure();
    return header.finish();
}

/// Where the only page of a column chunk is.
struct WrittenChunk {
    std::uint64_t begin = 0, size = 0;
};

struct WrittenGroup {
    std::size_t rows = 0;
    std::vector<WrittenChunk> chunks; ///< one per column
};

WrittenGroup write_group(AtomicFile& file, std::span<const ParquetColumn> columns, std::size_t first,
                         std::size_t rows) {
    WrittenGroup group{rows, {}};
    for (const ParquetColumn& column : columns) {
        const std::string page = with_writer(column, [&](auto writer, const auto& values) {
            return decltype(writer)::page(values, first, rows);
        });
        const std::uint64_t begin = file.position();
        file.write(page_header(page.size(), rows));
        file.write(page);
        group.chunks.push_back({begin, file.position() - begin});
    }
    return group;
}

void describe_chunk(ThriftWriter& metadata, const ParquetColumn& column, const WrittenChunk& chunk,
                    std::size_t rows) {
    const auto size = static_cast<std::int64_t>(chunk.size);
    metadata.begin_element();
    metadata.integer64(2, static_cast<std::int64_t>(chunk.begin));
    metadata.begin_structure(3);
    metadata.integer32(1, static_cast<std::int64_t>(physical_type(column)));
    metadata.list(2, ThriftType::i32, 2);
    metadata.element32(static_cast<std::int64_t>(Encoding::plain));
    metadata.element32(static_cast<std::int64_t>(Encoding::run_length));
    metadata.list(3, ThriftType::binary, 1);
    metadata.element_text(column.name);
    metadata.integer32(4, static_cast<std::int64_t>(Codec::none));
    metadata.integer64(5, static_cast<std::int64_t>(rows));
    metadata.integer64(6, size);
    metadata.integer64(7, size);
    metadata.integer64(9, static_cast<std::int64_t>(chunk.begin));
    metadata.end_structure();
    metadata.end_structure();
}

void describe_group(ThriftWriter& metadata, std::span<const ParquetColumn> columns,
                    const WrittenGroup& group) {
    std::uint64_t bytes = 0;
    metadata.begin_element();
    metadata.list(1, ThriftType::structure, columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i) {
        describe_chunk(metadata, columns[i], group.chunks[i], group.rows);
        bytes += group.chunks[i].size;
    }
    metadata.integer64(2, static_cast<std::int64_t>(bytes));
    metadata.integer64(3, static_cast<std::int64_t>(group.rows));
    metadata.end_structure();
}

std::string file_metadata(std::span<const ParquetColumn> columns, std::size_t rows,
                          std::span<const WrittenGroup> groups) {
    ThriftWriter metadata;
    metadata.integer32(1, 2);
    write_schema(metadata, columns);
    metadata.integer64(3, static_cast<std::int64_t>(rows));
    metadata.list(4, ThriftType::structure, groups.size());
    for (const WrittenGroup& group : groups)
        describe_group(metadata, columns, group);
    metadata.text(6, "Rekindle");
    return metadata.finish();
}

} // namespace

std::size_t ParquetColumn::rows() const {
    struct Count {
        std::size_t operator()(const ParquetInstants& column) const { return column.seconds.size(); }
        std::size_t operator()(const ParquetDates& column) const { return column.days.size(); }
        std::size_t operator()(const ParquetNumbers& column) const { return column.values.size(); }
        std::size_t operator()(const ParquetTexts& column) const { return column.indices.size(); }
    };
    return std::visit(Count{}, values);
}

void write_parquet(const std::filesystem::path& path, std::span<const ParquetColumn> columns) {
    const std::size_t rows = columns.empty() ? 0 : columns.front().rows();
    for (const ParquetColumn& column : columns)
        if (column.rows() != rows)
            throw internal_error("the columns of a Parquet file have different lengths");
    AtomicFile file(path);
    file.write(magic);
    std::vector<WrittenGroup> groups;
    for (std::size_t first = 0; first < rows; first += group_rows)
        groups.push_back(write_group(file, columns, first, std::min(group_rows, rows - first)));
    const std::string metadata = file_metadata(columns, rows, groups);
    file.write(metadata);
    std::string size;
    append(size, static_cast<std::uint32_t>(metadata.size()));
    file.write(size);
    file.write(magic);
    file.commit();
}

} // namespace rekindle::market
