#pragma once
/// Tables for the Arrow C data interface, made by hand, so that tests can break its rules one at a time.

#include <rekindle/market/arrow_abi.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace rekindle::test {

/// A column: its format and its buffers, each with its own memory, so that sanitizers see every access beyond
/// their ends. An empty optional buffer is a null pointer.
struct ArrowColumn {
    using Buffer = std::vector<std::byte>;

    std::string format = "l";
    std::string name = "column";
    std::int64_t length = 0;
    std::int64_t offset = 0;
    std::int64_t nulls = 0;
    std::vector<std::unique_ptr<Buffer>> buffers{};
    std::unique_ptr<ArrowColumn> dictionary{};

    /// Adds a buffer with these values.
    template <class Value>
    ArrowColumn& with(const std::vector<Value>& values) {
        auto buffer = std::make_unique<Buffer>(values.size() * sizeof(Value));
        if (!values.empty())
            std::memcpy(buffer->data(), values.data(), buffer->size());
        buffers.push_back(std::move(buffer));
        return *this;
    }
    ArrowColumn& without_buffer() {
        buffers.push_back(nullptr);
        return *this;
    }
};

/// A column of values of fixed width without nulls.
template <class Value>
ArrowColumn fixed_column(std::string name, std::string format, const std::vector<Value>& values) {
    ArrowColumn column;
    column.name = std::move(name);
    column.format = std::move(format);
    column.length = static_cast<std::int64_t>(values.size());
    column.without_buffer().with(values);
    return column;
}

/// Columns and the structures that pass them. The structures refer to this object, which must outlive them.
class ArrowRecord {
  public:
    explicit ArrowRecord(std::vector<ArrowColumn> columns, std::int64_t length)
        : columns_(std::move(columns)), length_(length) {
        for (ArrowColumn& column : columns_) {
            schema_children_.push_back(&make_schema(column));
            array_children_.push_back(&make_array(column));
        }
    }

    ArrowSchema schema() {
        ArrowSchema root{};
        root.format = "+s";
        root.n_children = static_cast<std::int64_t>(columns_.size());
        root.children = schema_children_.data();
        root.release = [](ArrowSchema* schema) { schema->release = nullptr; };
        return root;
    }
    /// `released` is set when the receiver releases the array.
    ArrowArray array(bool* released = nullptr) {
        ArrowArray root{};
        root.length = length_;
        root.n_buffers = 1;
        root.buffers = &no_validity_;
        root.n_children = static_cast<std::int64_t>(columns_.size());
        root.children = array_children_.data();
        root.private_data = released;
        root.release = [](ArrowArray* array) {
            if (array->private_data != nullptr)
                *static_cast<bool*>(array->private_data) = true;
            array->release = nullptr;
        };
        return root;
    }
    std::vector<ArrowColumn>& columns() noexcept { return columns_; }

  private:
    ArrowSchema& make_schema(const ArrowColumn& column) {
        schemas_.push_back(std::make_unique<ArrowSchema>());
        ArrowSchema& schema = *schemas_.back();
        schema.format = column.format.c_str();
        schema.name = column.name.c_str();
        schema.release = [](ArrowSchema* released) { released->release = nullptr; };
        if (column.dictionary)
            schema.dictionary = &make_schema(*column.dictionary);
        return schema;
    }
    ArrowArray& make_array(const ArrowColumn& column) {
        arrays_.push_back(std::make_unique<ArrowArray>());
        ArrowArray& array = *arrays_.back();
        array.length = column.length;
        array.offset = column.offset;
        array.null_count = column.nulls;
        array.n_buffers = static_cast<std::int64_t>(column.buffers.size());
        pointers_.push_back(std::make_unique<std::vector<const void*>>());
        for (const auto& buffer : column.buffers)
            pointers_.back()->push_back(buffer ? static_cast<const void*>(buffer->data()) : nullptr);
        array.buffers = pointers_.back()->data();
        array.release = [](ArrowArray* released) { released->release = nullptr; };
        if (column.dictionary)
            array.dictionary = &make_array(*column.dictionary);
        return array;
    }

    std::vector<ArrowColumn> columns_;
    std::int64_t length_;
    const void* no_validity_ = nullptr;
    std::vector<std::unique_ptr<ArrowSchema>> schemas_;
    std::vector<std::unique_ptr<ArrowArray>> arrays_;
    std::vector<std::unique_ptr<std::vector<const void*>>> pointers_;
    std::vector<ArrowSchema*> schema_children_;
    std::vector<ArrowArray*> array_children_;
};

} // namespace rekindle::test
