#include "arrow_export.h"

#include <rekindle/market/arrow_abi.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <limits>

namespace rekindle::python {

namespace nb = nanobind;

namespace {

const char* format_of(ColumnType type) {
    switch (type) {
    case ColumnType::int32:
    case ColumnType::text:
        return "i";
    case ColumnType::int64:
        return "l";
    case ColumnType::float32:
        return "f";
    case ColumnType::float64:
        return "g";
    case ColumnType::boolean:
        return "b";
    case ColumnType::date:
        return "tdD";
    case ColumnType::instant:
        return "tss:UTC";
    case ColumnType::label:
        return "tss:";
    }
    return "";
}

// ---- Schemas --------------------------------------------------------------------------------------------

struct SchemaContent {
    std::vector<std::string> names;
    std::deque<ArrowSchema> fields; ///< of the columns and their dictionaries
    std::vector<ArrowSchema*> children;
};

void release_part_of_schema(ArrowSchema* schema) {
    schema->release = nullptr; // its root owns everything
}

void release_schema(ArrowSchema* schema) {
    for (std::int64_t i = 0; i < schema->n_children; ++i)
        if (schema->children[i]->release != nullptr)
            schema->children[i]->release(schema->children[i]);
    schema->release = nullptr;
    delete static_cast<SchemaContent*>(schema->private_data);
}

ArrowSchema make_schema(const Table& table) {
    auto content = std::make_unique<SchemaContent>();
    for (const Column& column : table.columns())
        content->names.push_back(column.name);
    for (std::size_t i = 0; i < content->names.size(); ++i) {
        const Column& column = table.columns()[i];
        ArrowSchema* words = nullptr;
        if (column.words) {
            content->fields.push_back({.format = "u",
                                       .name = "",
                                       .metadata = nullptr,
                                       .flags = 0,
                                       .n_children = 0,
                                       .children = nullptr,
                                       .dictionary = nullptr,
                                       .release = release_part_of_schema,
                                       .private_data = nullptr});
            words = &content->fields.back();
        }
        content->fields.push_back({.format = format_of(column.type),
                                   .name = content->names[i].c_str(),
                                   .metadata = nullptr,
                                   .flags = 0,
                                   .n_children = 0,
                                   .children = nullptr,
                                   .dictionary = words,
                                   .release = release_part_of_schema,
                                   .private_data = nullptr});
        content->children.push_back(&content->fields.back());
    }
    SchemaContent* owned = content.release();
    return {.format = "+s",
            .name = "",
            .metadata = nullptr,
            .flags = 0,
            .n_children = static_cast<std::int64_t>(owned->children.size()),
            .children = owned->children.data(),
            .dictionary = nullptr,
            .release = release_schema,
            .private_data = owned};
}

// ---- Batches --------------------------------------------------------------------------------------------

/// An array and everything that it owns. A child may be moved out of its batch and outlive it, so every array
/// owns its own buffers.
struct ArrayContent {
    std::vector<std::shared_ptr<const void>> owners;
    std::vector<const void*> buffers;
    std::vector<ArrowArray> fields;
    std::vector<ArrowArray*> children;
    std::unique_ptr<ArrowArray> dictionary;
};

void release_array(ArrowArray* array) {
    for (std::int64_t i = 0; i < array->n_children; ++i)
        if (array->children[i]->release != nullptr)
            array->children[i]->release(array->children[i]);
    if (array->dictionary != nullptr && array->dictionary->release != nullptr)
        array->dictionary->release(array->dictionary);
    array->release = nullptr;
    delete static_cast<ArrayContent*>(array->private_data);
}

ArrowArray make_array(std::size_t length, std::unique_ptr<ArrayContent> content) {
    ArrayContent* owned = content.release();
    for (ArrowArray& field : owned->fields)
        owned->children.push_back(&field);
    return {.length = static_cast<std::int64_t>(length),
            .null_count = 0,
            .offset = 0,
            .n_buffers = static_cast<std::int64_t>(owned->buffers.size()),
            .n_children = static_cast<std::int64_t>(owned->children.size()),
            .buffers = owned->buffers.data(),
            .children = owned->children.data(),
            .dictionary = owned->dictionary.get(),
            .release = release_array,
            .private_data = owned};
}

/// Adds a buffer of values that the array owns.
template <class Value>
void add_buffer(ArrayContent& content, std::vector<Value> values) {
    auto owner = std::make_shared<const std::vector<Value>>(std::move(values));
    static const std::array<std::byte, 8> nothing{}; // no buffer may be missing, even of an empty column
    content.buffers.push_back(owner->empty() ? static_cast<const void*>(nothing.data()) : owner->data());
    content.owners.push_back(std::move(owner));
}

ArrowArray make_words(const std::vector<std::string>& words) {
    auto content = std::make_unique<ArrayContent>();
    std::vector<std::int32_t> ends{0};
    std::vector<char> characters;
    for (const std::string& word : words) {
        characters.insert(characters.end(), word.begin(), word.end());
        ends.push_back(static_cast<std::int32_t>(characters.size()));
    }
    content->buffers.push_back(nullptr);
    add_buffer(*content, std::move(ends));
    add_buffer(*content, std::move(characters));
    return make_array(words.size(), std::move(content));
}

std::vector<std::uint8_t> packed_bits(const Column& column) {
    std::vector<std::uint8_t> bits((column.size + 7) / 8);
    for (std::size_t i = 0; i < column.size; ++i)
        if (column.values[i * column.stride] != std::byte{0})
            bits[i / 8] = static_cast<std::uint8_t>(bits[i / 8] | 1U << i % 8);
    return bits;
}

std::vector<std::byte> copied_values(const Column& column) {
    const std::size_t width = column.width();
    std::vector<std::byte> values(column.size * width);
    for (std::size_t i = 0; i < column.size; ++i)
        std::memcpy(values.data() + i * width, column.values + i * column.stride, width);
    return values;
}

ArrowArray make_column(const Column& column) {
    auto content = std::make_unique<ArrayContent>();
    content->buffers.push_back(nullptr); // no validity buffer: there are no nulls
    if (column.type == ColumnType::boolean) {
        add_buffer(*content, packed_bits(column));
    } else if (column.stride != column.width() || column.size == 0) {
        add_buffer(*content, copied_values(column));
    } else {
        content->buffers.push_back(column.values);
        content->owners.push_back(column.owner);
    }
    if (column.words)
        content->dictionary = std::make_unique<ArrowArray>(make_words(*column.words));
    return make_array(column.size, std::move(content));
}

ArrowArray make_batch(const Table& table) {
    auto content = std::make_unique<ArrayContent>();
    content->buffers.push_back(nullptr);
    content->fields.reserve(table.columns().size());
    for (const Column& column : table.columns())
        content->fields.push_back(make_column(column));
    return make_array(table.rows(), std::move(content));
}

// ---- Streams --------------------------------------------------------------------------------------------

struct StreamContent {
    Table table;
    bool at_end = false;
    std::string error{};
};

StreamContent& content_of(ArrowArrayStream* stream) {
    return *static_cast<StreamContent*>(stream->private_data);
}

/// Calls `step` and turns an exception into the error of the stream.
template <class Step>
int guarded(ArrowArrayStream* stream, const Step& step) noexcept {
    try {
        step();
        return 0;
    } catch (const std::exception& error) {
        content_of(stream).error = error.what();
        return ENOMEM;
    }
}

int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
    return guarded(stream, [&] { *out = make_schema(content_of(stream).table); });
}

int get_next(ArrowArrayStream* stream, ArrowArray* out) {
    return guarded(stream, [&] {
        StreamContent& content = content_of(stream);
        *out = content.at_end ? ArrowArray{} : make_batch(content.table);
        content.at_end = true;
    });
}

const char* get_last_error(ArrowArrayStream* stream) {
    const std::string& error = content_of(stream).error;
    return error.empty() ? nullptr : error.c_str();
}

void release_stream(ArrowArrayStream* stream) {
    delete &content_of(stream);
    stream->release = nullptr;
}

/// A capsule that owns a structure of the interface until the receiver moves its content out.
template <class Structure>
nb::capsule make_capsule(Structure structure, const char* name) {
    auto owned = std::make_unique<Structure>(structure);
    PyObject* capsule = PyCapsule_New(owned.get(), name, [](PyObject* object) {
        auto* content = static_cast<Structure*>(PyCapsule_GetPointer(object, PyCapsule_GetName(object)));
        if (content->release != nullptr)
            content->release(content);
        delete content;
    });
    if (capsule == nullptr) {
        structure.release(owned.get());
        throw nb::python_error();
    }
    owned.release();
    return nb::steal<nb::capsule>(capsule);
}

} // namespace

nb::capsule schema_capsule(const Table& table) {
    return make_capsule(make_schema(table), "arrow_schema");
}

nb::capsule stream_capsule(const Table& table) {
    return make_capsule(ArrowArrayStream{.get_schema = get_schema,
                                         .get_next = get_next,
                                         .get_last_error = get_last_error,
                                         .release = release_stream,
                                         .private_data = new StreamContent{table}},
                        "arrow_array_stream");
}

} // namespace rekindle::python
