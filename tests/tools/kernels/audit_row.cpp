#include "audit_row.h"

#include <algorithm>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace rekindle::kernel_tool {
namespace {

struct Column {
    std::string_view name;
    std::string_view statistic; ///< RADV's name for it
};

/// RADV's statistics, VK_KHR_pipeline_executable_properties.
constexpr Column columns[] = {
    {"vgprs", "VGPRs"},
    {"sgprs", "SGPRs"},
    {"spilled_vgprs", "Spilled VGPRs"},
    {"spilled_sgprs", "Spilled SGPRs"},
    {"scratch_bytes", "Scratch size"},
    {"lds_bytes", "LDS size"},
    {"code_bytes", "Code size"},
    {"subgroups_per_simd", "Subgroups per SIMD"},
    {"latency_cycles", "Latency"},
};

} // namespace

void write_header(std::ostream& out) {
    out << "kernel\tcase";
    for (const Column& column : columns)
        out << '\t' << column.name;
    out << '\n';
}

std::uint64_t value_of(std::string_view statistic, std::span<const runtime::PipelineStatistic> statistics) {
    const auto found = std::ranges::find(statistics, statistic, &runtime::PipelineStatistic::name);
    if (found == statistics.end())
        throw std::runtime_error("the driver reports no '" + std::string(statistic) + "'");
    return found->value;
}

void write_row(std::ostream& out, const kernels::Kernel& kernel, const kernels::AuditCase& one,
               std::span<const runtime::PipelineStatistic> statistics) {
    std::string row = std::string(kernel.name) + '\t' + std::string(one.name);
    for (const Column& column : columns)
        row += '\t' + std::to_string(value_of(column.statistic, statistics));
    out << row << '\n';
}

} // namespace rekindle::kernel_tool
