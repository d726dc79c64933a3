#include "pipeline/pipeline_identity.h"

#include <rekindle/runtime/error.h>

#include <functional>
#include <string>

namespace rekindle::runtime {

PipelineIdentity::PipelineIdentity(const kernels::Kernel& of,
                                   std::span<const kernels::ConstantValue> constants)
    : family(of.family), kernel(of.name) {
    const std::size_t count = of.constants.size();
    values.reserve(count);
    for (const kernels::SpecializationConstant& constant : of.constants)
        values.push_back(constant.initial);
    std::size_t next = 0; // callers usually name constants in the order of the kernel
    for (const kernels::ConstantValue& given : constants) {
        std::size_t compared = 0;
        for (; compared < count && of.constants[next % count].name != given.name; ++compared)
            ++next;
        if (compared == count)
            throw Error("kernel " + std::string(of.name) + " has no constant " + std::string(given.name));
        values[next++ % count] = given.value;
    }
}

std::size_t PipelineIdentity::Hash::operator()(const PipelineIdentity& identity) const noexcept {
    std::uint64_t hash = std::hash<std::string_view>()(identity.kernel);
    for (const std::uint32_t value : identity.values)
        hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
    return static_cast<std::size_t>(hash ^ (hash >> 32));
}

} // namespace rekindle::runtime
