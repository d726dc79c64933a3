#include "reading/arrow/arrow_content.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>

#include <fmt/format.h>

#include <cstring>
#include <string>
#include <utility>

namespace rekindle::market {

namespace {

using arrow::Owned;

Error violation(const std::string& what) {
    return usage_error("the table breaks a rule of the Arrow C data interface: " + what)
        .expected("a table of polars, pandas, pyarrow, DuckDB or another library with __arrow_c_stream__")
        .hint("This is a defect of the library that made the table; a newer version may not have it.");
}

/// Takes over the schema of a table. Throws Error (usage).
Owned<ArrowSchema> checked_schema(Owned<ArrowSchema> schema) {
    if (schema->release == nullptr || schema->format == nullptr)
        throw violation("the schema is empty");
    if (std::strcmp(schema->format, "+s") != 0)
        throw usage_error(fmt::format("the data is one column of the format \"{}\"", schema->format))
            .expected("a table whose columns have names");
    if (schema->n_children < 0 || (schema->n_children > 0 && schema->children == nullptr))
        throw violation(fmt::format("the schema has {}", counted(schema->n_children, "column")));
    for (std::int64_t i = 0; i < schema->n_children; ++i)
        if (schema->children[i] == nullptr || schema->children[i]->format == nullptr)
            throw violation(fmt::format("the schema does not describe column {}", i + 1));
    return schema;
}

void require_batch(const ArrowArray& array, const ArrowSchema& schema) {
    if (array.length < 0 || array.offset < 0)
        throw violation(
            fmt::format("a batch has the length {} and the offset {}", array.length, array.offset));
    if (array.n_children != schema.n_children || (array.n_children > 0 && array.children == nullptr))
        throw violation(fmt::format("a batch has {}, the schema {}", counted(array.n_children, "column"),
                                    schema.n_children));
    if (array.null_count != 0 && array.n_buffers > 0 && array.buffers != nullptr &&
        array.buffers[0] != nullptr)
        throw usage_error("whole rows of the table are null").expected("rows with values");
}

arrow::Batch checked_batch(Owned<ArrowArray> array, const ArrowSchema& schema,
                           const std::vector<std::string>& names) {
    require_batch(*array, schema);
    arrow::Batch batch;
    batch.rows = static_cast<std::uint64_t>(array->length);
    batch.columns.reserve(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (array->children[i] == nullptr)
            throw violation(fmt::format("a batch lacks column {}", i + 1));
        try {
            batch.columns.emplace_back(*schema.children[i], *array->children[i],
                                       static_cast<std::uint64_t>(array->offset), batch.rows);
        } catch (const arrow::Violation& found) {
            throw violation(fmt::format("column {} (\"{}\"): {}", i + 1, names[i], found.what));
        }
    }
    batch.array = std::move(array);
    return batch;
}

void add_batch(ArrowTable::Content& content, Owned<ArrowArray> array) {
    arrow::Batch batch = checked_batch(std::move(array), *content.schema, content.names);
    if (batch.rows == 0)
        return;
    content.rows += batch.rows;
    for (const arrow::Column& column : batch.columns)
        content.bytes += column.bytes();
    content.batches.push_back(std::move(batch));
}

/// pandas passes an unnamed index as a column. If that holds times, they are the times of the bars; otherwise
/// it holds row numbers.
std::string column_name(const ArrowSchema& column) {
    const std::string name = column.name != nullptr ? column.name : "";
    if (name != "__index_level_0__")
        return name;
    const arrow::Kind kind = arrow::parse_format(column.format).kind;
    return kind == arrow::Kind::timestamp || kind == arrow::Kind::date ? "timestamp" : "index";
}

std::shared_ptr<ArrowTable::Content> content_with(Owned<ArrowSchema> schema) {
    auto content = std::make_shared<ArrowTable::Content>();
    content->schema = checked_schema(std::move(schema));
    for (std::int64_t i = 0; i < content->schema->n_children; ++i)
        content->names.push_back(column_name(*content->schema->children[i]));
    return content;
}

/// Throws the error that the stream reports.
void require_success(int status, Owned<ArrowArrayStream>& stream) {
    if (status == 0)
        return;
    const char* reason = stream->get_last_error(&*stream);
    throw usage_error(fmt::format("the table cannot be read: {}",
                                  reason != nullptr ? reason : fmt::format("error {}", status)));
}

} // namespace

std::filesystem::path memory_path(std::string_view name) {
    return std::string(memory_path_prefix) + std::string(name);
}

bool is_memory_path(const std::filesystem::path& path) {
    return path.native().starts_with(memory_path_prefix);
}

ArrowTable ArrowTable::read(ArrowArrayStream taken) {
    Owned<ArrowArrayStream> stream(taken);
    if (stream->release == nullptr)
        throw usage_error("the table was read already").expected("a table that can be read again");
    Owned<ArrowSchema> schema;
    require_success(stream->get_schema(&*stream, &*schema), stream);
    auto content = content_with(std::move(schema));
    for (;;) {
        Owned<ArrowArray> array;
        require_success(stream->get_next(&*stream, &*array), stream);
        if (array->release == nullptr)
            break;
        add_batch(*content, std::move(array));
    }
    return ArrowTable(std::move(content));
}

ArrowTable ArrowTable::read(ArrowSchema schema, ArrowArray batch) {
    Owned<ArrowArray> array(batch);
    auto content = content_with(Owned<ArrowSchema>(schema));
    if (array->release == nullptr)
        throw violation("the batch is empty");
    add_batch(*content, std::move(array));
    return ArrowTable(std::move(content));
}

std::uint64_t ArrowTable::rows() const noexcept {
    return content_->rows;
}

} // namespace rekindle::market
