#include "compile_line.h"

#include <rekindle/foundation/environment.h>

#include <cstdio>
#include <unistd.h>

namespace rvk {

namespace {

class CompileLine {
  public:
    void operator()(std::uint32_t compiled, std::uint32_t requested) {
        if (terminal_) {
            std::fprintf(stderr, "\rrvk: compiling kernels for this GPU, once: %u of %u%s", compiled,
                         requested, compiled == requested ? "\n" : "");
            std::fflush(stderr);
        } else if (!begun_) {
            std::fprintf(stderr, "rvk: compiling kernels for this GPU, once: %u of %u so far\n", compiled,
                         requested);
        }
        begun_ = compiled != requested;
    }

  private:
    bool terminal_ = ::isatty(STDERR_FILENO) == 1;
    bool begun_ = false;
};

} // namespace

rekindle::runtime::CompileProgressCallback compile_line() {
    if (!rekindle::switched_on("REKINDLE_PROGRESS", true))
        return {};
    return CompileLine{};
}

} // namespace rvk
