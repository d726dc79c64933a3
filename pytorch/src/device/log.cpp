#include "log.h"

#include <rekindle/foundation/environment.h>

#include <cstdio>

namespace rvk {

void log(std::string_view line) {
    static const bool wanted = rekindle::switched_on("REKINDLE_LOG");
    if (wanted)
        std::fprintf(stderr, "rvk: %.*s\n", static_cast<int>(line.size()), line.data());
}

} // namespace rvk
