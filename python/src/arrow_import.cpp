#include "arrow_import.h"

#include <utility>

namespace rekindle::python {

namespace nb = nanobind;

namespace {

/// The structure in a capsule of the Arrow PyCapsule interface. Throws nb::python_error for another capsule.
template <class Structure>
Structure& content_of(nb::handle capsule, const char* name) {
    auto* content = static_cast<Structure*>(PyCapsule_GetPointer(capsule.ptr(), name));
    if (content == nullptr)
        throw nb::python_error();
    return *content;
}

/// Moves the structure out of its capsule, which then owns nothing.
template <class Structure>
Structure take(Structure& content) {
    return std::exchange(content, Structure{});
}

} // namespace

market::ArrowTable import_table(nb::handle object) {
    if (nb::hasattr(object, "__arrow_c_stream__")) {
        const nb::object capsule = object.attr("__arrow_c_stream__")();
        const auto stream = take(content_of<ArrowArrayStream>(capsule, "arrow_array_stream"));
        const nb::gil_scoped_release release; // the stream may run a query that needs the interpreter
        return market::ArrowTable::read(stream);
    }
    if (nb::hasattr(object, "__arrow_c_array__")) {
        const nb::object pair = object.attr("__arrow_c_array__")();
        const nb::object first = pair[0], second = pair[1];
        auto& schema_content = content_of<ArrowSchema>(first, "arrow_schema");
        auto& array_content = content_of<ArrowArray>(second, "arrow_array");
        const auto schema = take(schema_content);
        const auto array = take(array_content);
        const nb::gil_scoped_release release;
        return market::ArrowTable::read(schema, array);
    }
    throw nb::type_error("not a table: it has neither __arrow_c_stream__ nor __arrow_c_array__");
}

} // namespace rekindle::python
