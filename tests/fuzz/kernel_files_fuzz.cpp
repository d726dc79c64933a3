#include "audit.h"
#include "module.h"
#include "reflection.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

using namespace rekindle::kernels::generator;

namespace {

void read_words(std::span<const std::uint8_t> bytes) {
    std::vector<std::uint32_t> module(bytes.size() / sizeof(std::uint32_t));
    if (!module.empty()) // memcpy takes no null pointer
        std::memcpy(module.data(), bytes.data(), module.size() * sizeof(std::uint32_t));
    check_structure(module);
    if (stripped(stripped(module)) != stripped(module))
        __builtin_trap(); // a second pass must find nothing to strip
    functions_with_logical_copies(module);
    entry_points(module);
    constant_values(module);
    needed_features(module);
}

void read_audit_lines(std::string_view text) {
    static const std::array<ReflectedConstant, 3> constants = {
        ReflectedConstant{"width", 0}, ReflectedConstant{"depth", 1}, ReflectedConstant{"dtype", 2}};
    static const AuditScope scope{"family", "float32", {"train", "evaluate"}, {"train_float64"}, constants};
    for (const Case& one : parse_audit(text, scope))
        if (one.kernel != "train" && one.kernel != "evaluate")
            __builtin_trap(); // not a kernel of the family
}

} // namespace

/// The first byte selects the reader: module, reflection or audit list.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0)
        return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    try {
        if (data[0] == 'm')
            read_words({data + 1, size - 1});
        else if (data[0] == 'r')
            parse_reflection(text);
        else
            read_audit_lines(text);
    } catch (const Refused&) {
    }
    return 0;
}
