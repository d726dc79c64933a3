#include "errors.h"

#include <rekindle/foundation/error.h>

#include <exception>
#include <nanobind/nanobind.h>

namespace rekindle::python {

namespace nb = nanobind;

namespace {

void raise(const Error& error) {
    const nb::object make = nb::module_::import_("rekindle_train._errors").attr("make_error");
    const nb::object exception =
        make(error.message().c_str(), error.where().c_str(), error.expectation().c_str(),
             error.advice().c_str(), static_cast<int>(error.status()));
    PyErr_SetObject(exception.type().ptr(), exception.ptr());
}

} // namespace

void register_errors() {
    nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
        try {
            std::rethrow_exception(pointer);
        } catch (const Error& error) {
            raise(error);
        }
    });
}

} // namespace rekindle::python
