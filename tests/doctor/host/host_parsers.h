#pragma once
/// Passes one text to every parser of host files: for the fuzz target and for the test of damaged files.

#include "../../../doctor/src/host/collectors.h"
#include "../../../doctor/src/host/library_search.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor::fixtures {

/// How much the parsers found; they must neither crash nor hang on any text.
inline std::size_t parse_with_all(std::string_view text) {
    std::size_t found = parse_kfd_properties(text).size() + parse_fdinfo(text).address.size();
    found += parse_modprobe(text, "/etc/modprobe.d/x.conf").size();
    const std::vector<std::string> records = parse_kernel_records(text);
    found += records.size() + graphics_lines(records, {}).size();
    found += parse_vulkan_driver(text).has_value() + parse_vulkan_layers(text).size();
    found += nvidia_version(text).size() + newest_cuda({std::string(text), ""}).known();
    found += parse_linker_cache(text).size();
    const PciConfig config = parse_pci_config(text, "config");
    found += config.routes_atomics.known() + config.acs_redirects.known();
    const auto dynamic = parse_elf_dynamic([text](std::uint64_t offset, std::size_t size) {
        return offset < text.size() ? std::string(text.substr(offset, size)) : std::string();
    });
    return found + (dynamic ? dynamic->needed.size() : 0);
}

} // namespace rekindle::doctor::fixtures
