#include "log.h"

#include <rekindle/foundation/environment.h>

#include <cstdio>

namespace rvk {

bool is_logging() noexcept {
    static const bool on = rekindle::switched_on("REKINDLE_LOG");
    return on;
}

void print_line(std::string_view line) noexcept {
    std::fprintf(stderr, "rvk: %.*s\n", static_cast<int>(line.size()), line.data());
}

} // namespace rvk
