#include "reading/text_source.h"

namespace rekindle::market::reading {

Error line_too_long(const std::filesystem::path& path) {
    return usage_error("a line is longer than 65,536 bytes").at(path.string()).expected("one bar per line");
}

} // namespace rekindle::market::reading
