#include "log.h"

#include <cstdio>
#include <cstdlib>

namespace rvk {

void log(std::string_view line) {
    static const bool wanted = std::getenv("REKINDLE_LOG") != nullptr;
    if (wanted)
        std::fprintf(stderr, "rvk: %.*s\n", static_cast<int>(line.size()), line.data());
}

} // namespace rvk
