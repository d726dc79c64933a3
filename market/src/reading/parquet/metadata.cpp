#include "reading/parquet/metadata.h"

#include "reading/parquet/damage.h"
#include "reading/parquet/thrift.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace rekindle::market::parquet {

namespace {

constexpr std::string_view magic = "PAR1";
constexpr std::string_view encrypted_magic = "PARE";
/// A file that claims more rows than this for each of its bytes counts as damaged. Bars take at least a bit
/// per row, so no real file comes near it.
constexpr std::int64_t most_rows_per_byte = 1000;
constexpr std::size_t largest_page = std::size_t{64} << 20;

/// An element of the schema: the root, a group, or a leaf.
struct SchemaElement {
    std::string name;
    std::optional<std::int64_t> type;
    std::int64_t length = 0;
    std::int64_t repetition = 0; ///< 0 required, 1 optional, 2 repeated
    std::int64_t children = 0;
    std::int64_t converted = -1;
    std::int64_t scale = 0;
    std::int64_t logical = -1; ///< number of the field that is set in the union LogicalType
    std::int64_t per_second = 1;
    bool utc = false;
};

std::int64_t read_time_unit(ThriftReader& reader) {
    std::int64_t per_second = 1;
    reader.read_structure([&](std::int64_t id, ThriftType type) {
        per_second = id == 1 ? 1'000 : id == 2 ? 1'000'000 : 1'000'000'000;
        reader.skip(type);
    });
    return per_second;
}

/// The union LogicalType: 5 is a decimal, 7 a time, 8 a timestamp.
void read_logical_type(ThriftReader& reader, SchemaElement& element) {
    reader.read_structure([&](std::int64_t kind, ThriftType type) {
        element.logical = kind;
        if (type != ThriftType::structure || (kind != 5 && kind != 7 && kind != 8))
            return reader.skip(type);
        reader.read_structure([&](std::int64_t id, ThriftType field) {
            if (kind == 5 && id == 1)
                element.scale = reader.integer(field);
            else if (kind != 5 && id == 1)
                element.utc = ThriftReader::boolean(field);
            else if (kind != 5 && id == 2 && field == ThriftType::structure)
                element.per_second = read_time_unit(reader);
            else
                reader.skip(field);
        });
    });
}

SchemaElement read_schema_element(ThriftReader& reader) {
    SchemaElement element;
    reader.read_structure([&](std::int64_t id, ThriftType type) {
        switch (id) {
        case 1:
            element.type = reader.integer(type);
            break;
        case 2:
            element.length = reader.integer(type);
            break;
        case 3:
            element.repetition = reader.integer(type);
            break;
        case 4:
            element.name = reader.binary(type);
            break;
        case 5:
            element.children = reader.integer(type);
            break;
        case 6:
            element.converted = reader.integer(type);
            break;
        case 7:
            element.scale = reader.integer(type);
            break;
        case 10:
            read_logical_type(reader, element);
            break;
        default:
            reader.skip(type);
        }
    });
    return element;
}

Physical physical_of(const SchemaElement& element) {
    constexpr std::int64_t last = 7;
    if (*element.type < 0 || *element.type > last)
        throw Damage{fmt::format("the column {} has the unknown type {}", element.name, *element.type)};
    return static_cast<Physical>(*element.type);
}

/// Applies ConvertedType, the only annotation of types that older writers use.
void apply_converted_type(const SchemaElement& element, Column& column) {
    switch (element.converted) {
    case 0: // UTF8
    case 4: // ENUM
        column.logical = Logical::text;
        break;
    case 5:
        column.logical = Logical::decimal;
        break;
    case 6:
        column.logical = Logical::date;
        break;
    case 7: // milliseconds
    case 8: // microseconds
        column.logical = Logical::time_of_day;
        column.per_second = element.converted == 7 ? 1'000 : 1'000'000;
        break;
    case 9:
    case 10:
        column.logical = Logical::timestamp;
        column.per_second = element.converted == 9 ? 1'000 : 1'000'000;
        column.utc = true;
        break;
    case 11:
    case 12:
    case 13:
    case 14:
        column.logical = Logical::unsigned_integer;
        break;
    default:
        break;
    }
}

void apply_logical_type(const SchemaElement& element, Column& column) {
    switch (element.logical) {
    case 1: // STRING
    case 4: // ENUM
        column.logical = Logical::text;
        break;
    case 5:
        column.logical = Logical::decimal;
        break;
    case 6:
        column.logical = Logical::date;
        break;
    case 7:
    case 8:
        column.logical = element.logical == 7 ? Logical::time_of_day : Logical::timestamp;
        column.per_second = element.per_second;
        column.utc = element.utc;
        break;
    case 14: // UUID
    case 15: // FLOAT16
        column.logical = Logical::other;
        break;
    default:
        break; // INTEGER is also given as a converted type
    }
}

Column column_of(const SchemaElement& element) {
    Column column;
    column.name = element.name;
    column.optional = element.repetition == 1;
    column.nested = !element.type || element.repetition == 2 || element.children > 0;
    if (column.nested)
        return column;
    column.physical = physical_of(element);
    apply_converted_type(element, column);
    apply_logical_type(element, column);
    constexpr std::int64_t longest = 1 << 16;
    if (column.physical == Physical::fixed_byte_array) {
        if (element.length < 1 || element.length > longest)
            throw Damage{
                fmt::format("values of the column {} have the length {}", element.name, element.length)};
        column.length = static_cast<std::size_t>(element.length);
        if (column.logical == Logical::plain)
            column.logical = Logical::other;
    }
    if (column.logical == Logical::decimal && (element.scale < 0 || element.scale > 38))
        throw Damage{fmt::format("the column {} has decimals of scale {}", element.name, element.scale)};
    column.scale = static_cast<int>(element.scale);
    return column;
}

/// Skips an element's descendants. Returns how many leaves the element has.
std::size_t leaves_below(const std::vector<SchemaElement>& schema, std::size_t& position) {
    std::size_t leaves = 0;
    for (std::int64_t left = 1; left > 0; --left) {
        if (position >= schema.size())
            throw Damage{"its schema ends early"};
        const SchemaElement& element = schema[position++];
        if (element.children < 0 || element.children > static_cast<std::int64_t>(schema.size()))
            throw Damage{"its schema has an impossible number of columns"};
        left += element.children;
        leaves += element.children == 0 ? 1 : 0;
    }
    return leaves;
}

std::vector<Column> columns_of(const std::vector<SchemaElement>& schema) {
    if (schema.empty())
        throw Damage{"it has no schema"};
    std::vector<Column> columns;
    std::size_t leaf = 0;
    for (std::size_t position = 1; position < schema.size();) {
        columns.push_back(column_of(schema[position]));
        columns.back().leaf = leaf;
        leaf += leaves_below(schema, position);
    }
    return columns;
}

std::int64_t read_offset(ThriftReader& reader, ThriftType type) {
    const std::int64_t value = reader.integer(type);
    if (value < 0)
        throw Damage{"a column begins before the file"};
    return value;
}

void read_chunk_metadata(ThriftReader& reader, Chunk& chunk) {
    std::int64_t data = 0, dictionary = 0, size = 0;
    reader.read_structure([&](std::int64_t id, ThriftType type) {
        switch (id) {
        case 4:
            chunk.codec = static_cast<Codec>(reader.integer(type));
            break;
        case 5:
            chunk.values = reader.integer(type);
            break;
        case 7:
            size = read_offset(reader, type);
            break;
        case 9:
            data = read_offset(reader, type);
            break;
        case 11:
            dictionary = read_offset(reader, type);
            break;
        default:
            reader.skip(type);
        }
    });
    chunk.begin = static_cast<std::uint64_t>(dictionary > 0 && dictionary < data ? dictionary : data);
    chunk.end = chunk.begin + static_cast<std::uint64_t>(size);
}

Chunk read_chunk(ThriftReader& reader) {
    Chunk chunk;
    reader.read_structure([&](std::int64_t id, ThriftType type) {
        if (id == 1)
            throw Unsupported{"its columns are in other files"};
        if (id == 3 && type == ThriftType::structure)
            read_chunk_metadata(reader, chunk);
        else
            reader.skip(type);
    });
    return chunk;
}

RowGroup read_row_group(ThriftReader& reader) {
    RowGroup group;
    reader.read_structure([&](std::int64_t id, ThriftType type) {
        if (id == 1)
            reader.read_list(type, [&] { group.chunks.push_back(read_chunk(reader)); });
        else if (id == 3)
            group.rows = reader.integer(type);
        else
            reader.skip(type);
    });
    return group;
}

void check_groups(const FileMetadata& metadata, std::size_t file_size) {
    std::size_t leaves = 0;
    for (const Column& column : metadata.columns)
        leaves = std::max(leaves, column.leaf + 1);
    std::int64_t rows = 0;
    const auto most_rows = static_cast<std::int64_t>(file_size) * most_rows_per_byte;
    for (const RowGroup& group : metadata.groups) {
        if (group.chunks.size() < leaves)
            throw Damage{"a row group lacks columns"};
        if (group.rows < 0 || group.rows > most_rows - rows)
            throw Damage{"it claims to have more rows than a file of its size can hold"};
        rows += group.rows;
        for (const Chunk& chunk : group.chunks)
            if (chunk.end > file_size || chunk.begin > chunk.end)
                throw Damage{"a column ends after the file"};
        for (const Column& column : metadata.columns)
            if (!column.nested && group.chunks[column.leaf].values != group.rows)
                throw Damage{fmt::format("rows are missing in the column {}", column.name)};
    }
    if (rows != metadata.rows)
        throw Damage{fmt::format(
            "it claims to have {}, its row groups have {}",
            counted(static_cast<std::uint64_t>(std::max<std::int64_t>(0, metadata.rows)), "row"), rows)};
}

/// Reads the fields that data pages and dictionaries share. Field 3 is the encoding of levels; in a
/// dictionary, which has no levels, it means something else.
void read_data_header(ThriftReader& reader, PageHeader& page, bool dictionary) {
    reader.read_structure([&](std::int64_t id, ThriftType type) {
        if (id == 1)
            page.values = static_cast<std::size_t>(reader.integer(type));
        else if (id == 2)
            page.encoding = static_cast<Encoding>(reader.integer(type));
        else if (id == 3 && !dictionary)
            page.level_encoding = static_cast<Encoding>(reader.integer(type));
        else
            reader.skip(type);
    });
}

void read_data_header_v2(ThriftReader& reader, PageHeader& page) {
    std::int64_t repetition_size = 0;
    reader.read_structure([&](std::int64_t id, ThriftType type) {
        if (id == 1)
            page.values = static_cast<std::size_t>(reader.integer(type));
        else if (id == 4)
            page.encoding = static_cast<Encoding>(reader.integer(type));
        else if (id == 5)
            page.level_size = static_cast<std::size_t>(reader.integer(type));
        else if (id == 6)
            repetition_size = reader.integer(type);
        else if (id == 7)
            page.compressed = ThriftReader::boolean(type);
        else
            reader.skip(type);
    });
    if (repetition_size != 0)
        throw Damage{"a column of single values has repetition levels"};
}

PageKind page_kind(std::int64_t number) {
    switch (number) {
    case 0:
        return PageKind::data;
    case 2:
        return PageKind::dictionary;
    case 3:
        return PageKind::data_v2;
    default:
        return PageKind::other;
    }
}

std::size_t page_size(std::int64_t size) {
    if (size < 0)
        throw Damage{"a page has a negative size"};
    if (static_cast<std::size_t>(size) > largest_page)
        throw Unsupported{"a page is larger than 64 MiB"};
    return static_cast<std::size_t>(size);
}

} // namespace

FileMetadata read_metadata(std::string_view file) {
    constexpr std::size_t tail = 8; // the size of the metadata and the magic bytes
    if (file.ends_with(encrypted_magic))
        throw Unsupported{"it is encrypted"};
    if (file.size() < magic.size() + tail || !file.ends_with(magic))
        throw Damage{"it does not end with its metadata, as if it were cut off"};
    std::uint32_t size = 0;
    std::memcpy(&size, file.data() + file.size() - tail, sizeof size);
    if (size > file.size() - magic.size() - tail)
        throw Damage{"its metadata is larger than the file"};
    ThriftReader reader(file.substr(file.size() - tail - size, size));
    FileMetadata metadata;
    std::vector<SchemaElement> schema;
    reader.read_structure([&](std::int64_t id, ThriftType type) {
        if (id == 2)
            reader.read_list(type, [&] { schema.push_back(read_schema_element(reader)); });
        else if (id == 3)
            metadata.rows = reader.integer(type);
        else if (id == 4)
            reader.read_list(type, [&] { metadata.groups.push_back(read_row_group(reader)); });
        else if (id == 8)
            throw Unsupported{"it is encrypted"};
        else
            reader.skip(type);
    });
    metadata.columns = columns_of(schema);
    check_groups(metadata, file.size());
    return metadata;
}

PageHeader read_page_header(std::string_view bytes) {
    ThriftReader reader(bytes);
    PageHeader page;
    reader.read_structure([&](std::int64_t id, ThriftType type) {
        if (id == 1)
            page.kind = page_kind(reader.integer(type));
        else if (id == 2)
            page.decoded_size = page_size(reader.integer(type));
        else if (id == 3)
            page.stored_size = page_size(reader.integer(type));
        else if (id == 4) {
            page.has_checksum = true;
            page.checksum = static_cast<std::uint32_t>(reader.integer(type));
        } else if ((id == 5 || id == 7) && type == ThriftType::structure)
            read_data_header(reader, page, id == 7);
        else if (id == 8 && type == ThriftType::structure)
            read_data_header_v2(reader, page);
        else
            reader.skip(type);
    });
    page.header_size = reader.position();
    if (page.stored_size > bytes.size() - page.header_size)
        throw Damage{"a page ends after its column"};
    return page;
}

} // namespace rekindle::market::parquet
