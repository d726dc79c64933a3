#include "build_version.h"

#include <string>
#include <torch/library.h>

// What the library was made for; the Python package compares it with the PyTorch that loads it.
TORCH_LIBRARY_FRAGMENT(rvk, m) {
    m.def("version() -> str", [] { return std::string(RVK_VERSION); });
    m.def("torch_version() -> str", [] { return std::string(RVK_TORCH_VERSION); });
}
