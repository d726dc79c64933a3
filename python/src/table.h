#pragma once
/// Results as tables: columns that NumPy views without copying them and that Arrow's C data interface passes
/// to other libraries.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nanobind/nanobind.h>
#include <span>
#include <string>
#include <vector>

namespace rekindle::python {

/// What the values of a column mean.
enum class ColumnType {
    int32,
    int64,
    float32,
    float64,
    boolean, ///< a byte each
    date,    ///< int32: days since 1970-01-01
    instant, ///< int64: seconds since 1970-01-01T00:00:00Z
    label,   ///< int64 like instant, but of an unknown zone
    text,    ///< int32: index into Column::words
};

/// Read-only values and what keeps them alive.
struct Column {
    std::string name;
    ColumnType type = ColumnType::float64;
    const std::byte* values = nullptr;
    std::size_t size = 0;
    std::size_t stride = 0; ///< bytes from the beginning of one value to that of the next
    std::shared_ptr<const void> owner;
    std::shared_ptr<const std::vector<std::string>> words; ///< for texts

    std::size_t width() const noexcept;
};

/// A column of values that `owner` keeps alive.
template <class Value>
Column view_column(std::string name, ColumnType type, std::span<const Value> values,
                   std::shared_ptr<const void> owner) {
    return {std::move(name), type,          reinterpret_cast<const std::byte*>(values.data()),
            values.size(),   sizeof(Value), std::move(owner),
            nullptr};
}
/// A column that owns its values.
template <class Value>
Column own_column(std::string name, ColumnType type, std::vector<Value> values) {
    auto owner = std::make_shared<const std::vector<Value>>(std::move(values));
    return view_column(std::move(name), type, std::span<const Value>(*owner), owner);
}
Column text_column(std::string name, std::vector<std::int32_t> indices, std::vector<std::string> words);

/// Columns of equal length. Immutable.
class Table {
  public:
    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
    std::span<const Column> columns() const noexcept { return columns_; }
    std::size_t rows() const noexcept { return columns_.empty() ? 0 : columns_.front().size; }
    /// Throws nb::key_error.
    const Column& column(const std::string& name) const;

  private:
    std::vector<Column> columns_;
};

void bind_table(nanobind::module_& module);

} // namespace rekindle::python
