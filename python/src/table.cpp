#include "table.h"

#include "arrow_export.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace rekindle::python {

namespace nb = nanobind;

namespace {

nb::dlpack::dtype dtype_of(ColumnType type) {
    switch (type) {
    case ColumnType::int32:
    case ColumnType::date:
    case ColumnType::text:
        return nb::dtype<std::int32_t>();
    case ColumnType::float32:
        return nb::dtype<float>();
    case ColumnType::float64:
        return nb::dtype<double>();
    case ColumnType::boolean:
        return nb::dtype<bool>();
    default:
        return nb::dtype<std::int64_t>();
    }
}

const char* name_of(ColumnType type) {
    switch (type) {
    case ColumnType::boolean:
        return "boolean";
    case ColumnType::date:
        return "date";
    case ColumnType::instant:
        return "instant";
    case ColumnType::label:
        return "label";
    case ColumnType::text:
        return "text";
    default:
        return "number";
    }
}

using Array = nb::ndarray<nb::numpy, nb::ro>;

/// A view of the values where they are stored; days, seconds and indices appear as integers.
Array view_of(const Column& column) {
    auto keeper = std::make_unique<std::shared_ptr<const void>>(column.owner);
    const nb::capsule owner(keeper.get(), [](void* pointer) noexcept {
        delete static_cast<std::shared_ptr<const void>*>(pointer);
    });
    keeper.release();
    const std::size_t shape[1] = {column.size};
    const std::int64_t strides[1] = {static_cast<std::int64_t>(column.stride / column.width())};
    return Array(column.values, 1, shape, owner, strides, dtype_of(column.type));
}

} // namespace

std::size_t Column::width() const noexcept {
    switch (type) {
    case ColumnType::boolean:
        return 1;
    case ColumnType::int32:
    case ColumnType::float32:
    case ColumnType::date:
    case ColumnType::text:
        return 4;
    default:
        return 8;
    }
}

Column text_column(std::string name, std::vector<std::int32_t> indices, std::vector<std::string> words) {
    Column column = own_column(std::move(name), ColumnType::text, std::move(indices));
    column.words = std::make_shared<const std::vector<std::string>>(std::move(words));
    return column;
}

const Column& Table::column(const std::string& name) const {
    for (const Column& column : columns_)
        if (column.name == name)
            return column;
    throw nb::key_error(name.c_str());
}

void bind_table(nb::module_& module) {
    nb::class_<Table>(module, "Table")
        .def_prop_ro("names",
                     [](const Table& table) {
                         std::vector<std::string> names;
                         for (const Column& column : table.columns())
                             names.push_back(column.name);
                         return names;
                     })
        .def("__len__", &Table::rows)
        .def(
            "view", [](const Table& table, const std::string& name) { return view_of(table.column(name)); },
            nb::arg("name"))
        .def(
            "kind",
            [](const Table& table, const std::string& name) { return name_of(table.column(name).type); },
            nb::arg("name"))
        .def(
            "words",
            [](const Table& table, const std::string& name) {
                const Column& column = table.column(name);
                return column.words ? *column.words : std::vector<std::string>();
            },
            nb::arg("name"))
        .def("arrow_schema", [](const Table& table) { return schema_capsule(table); })
        .def("arrow_stream", [](const Table& table) { return stream_capsule(table); });
}

} // namespace rekindle::python
