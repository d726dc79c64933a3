#pragma once
/// The identity of a pipeline among those of a device.

#include <rekindle/kernels/kernel.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace rekindle::runtime {

/// A kernel with a value for each of its constants. Compared by content, not by address, so that equal
/// descriptions of a kernel share one pipeline wherever they are stored. The texts belong to the kernel,
/// which lives as long as the process.
struct PipelineIdentity {
    std::string_view family, kernel;
    std::vector<std::uint32_t> values; ///< in the order of Kernel::constants

    /// `constants`: values that differ from the initial ones, in any order; the last one of a name counts.
    /// Throws Error when the kernel has no such constant.
    PipelineIdentity(const kernels::Kernel& kernel, std::span<const kernels::ConstantValue> constants);
    friend bool operator==(const PipelineIdentity&, const PipelineIdentity&) = default;

    struct Hash {
        std::size_t operator()(const PipelineIdentity& identity) const noexcept;
    };
};

} // namespace rekindle::runtime
