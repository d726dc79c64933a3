#include <rekindle/foundation/error.h>

namespace rekindle {

std::string Error::render() const {
    std::string text;
    if (!where_.empty())
        text += where_ + ": ";
    text += what_;
    if (!expected_.empty())
        text += ", expected " + expected_;
    if (!hint_.empty())
        text += "\n  " + hint_;
    return text;
}

} // namespace rekindle
