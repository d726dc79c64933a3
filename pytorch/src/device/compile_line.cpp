#include "compile_line.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>
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
    const char* const value = std::getenv("REKINDLE_PROGRESS");
    if (value != nullptr && std::string_view(value) == "0")
        return {};
    return CompileLine{};
}

} // namespace rvk
