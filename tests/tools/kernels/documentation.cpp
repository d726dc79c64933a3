#include "documentation.h"

#include <rekindle/kernels/kernel.h>

#include <ostream>
#include <string>

namespace rekindle::kernel_tool {
std::string names_of(kernels::Features features) {
    std::string text;
    for_each_feature(features, [&](kernels::Feature feature) {
        text += (text.empty() ? "" : ", ") + std::string(name(feature));
    });
    return text;
}

void write_documentation(std::ostream& out) {
    out << "# Kernels\n\n"
           "Generated from kernels/kernels.json by `./scripts/isa-audit`. Needs: features beyond those that "
           "every "
           "accepted device has.\n"
           "Cases: the sets of specialization constants that are compiled for every GPU family "
           "([isa.md](../isa.md)).\n";
    std::string_view family;
    for (const kernels::Kernel& kernel : kernels::all()) {
        if (kernel.family != family) {
            family = kernel.family;
            out << "\n## " << family << "\n\nPush constants: " << kernel.parameter_bytes
                << " bytes; specialization constants: " << kernel.constants.size()
                << ".\n\n| kernel | what | threads | needs | cases |\n|---|---|---|---|---|\n";
        }
        out << "| " << kernel.name << " | " << kernel.brief << " | " << kernel.threads << " | "
            << names_of(kernel.needs) << " | " << kernel.audit.size() << " |\n";
    }
}

} // namespace rekindle::kernel_tool
