#include <rekindle/foundation/error.h>
#include <rekindle/runtime/error.h>
#include <rekindle/trainer/runtime_error.h>

namespace rekindle::trainer {

void throw_as_error(const std::exception& failure, const std::string& where) {
    if (const auto* error = dynamic_cast<const runtime::Error*>(&failure)) {
        Error translated = dynamic_cast<const runtime::Unsupported*>(error) ? usage_error(error->what())
                                                                            : Error(error->what());
        if (!where.empty())
            translated.at(where);
        throw translated.hint(error->advice().empty() ? doctor_hint : error->advice() + ". " + doctor_hint);
    }
    throw internal_error(failure.what());
}

} // namespace rekindle::trainer
