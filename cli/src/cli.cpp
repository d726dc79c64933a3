#include <rekindle/cli/cli.h>

#include <rekindle/base/version.h>

#include <cstdio>

namespace rekindle::cli {
int run(int, char**) {
    std::puts(version_details().c_str());
    return 0;
}
} // namespace rekindle::cli
