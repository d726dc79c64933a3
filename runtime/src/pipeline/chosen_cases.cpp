#include "pipeline/chosen_cases.h"

#include <optional>
#include <unordered_map>

namespace rekindle::runtime {

namespace {

constexpr std::size_t header_words = 5;
constexpr std::uint32_t op_decorate = 71, op_switch = 251, decoration_spec_id = 1;

/// Result ids of the specialization constants, with their given values.
using KnownValues = std::unordered_map<std::uint32_t, std::uint32_t>;

std::optional<std::uint32_t> value_of(std::uint32_t spec_id,
                                      std::span<const kernels::SpecializationConstant> constants,
                                      std::span<const std::uint32_t> values) {
    for (std::size_t i = 0; i < constants.size(); ++i)
        if (constants[i].id == spec_id)
            return values[i];
    return std::nullopt;
}

/// OpSwitch: selector, default target, then pairs of a literal (32 bits, as the selector) and a target.
std::uint32_t chosen_target(std::span<const std::uint32_t> instruction, std::uint32_t value) {
    for (std::size_t i = 3; i + 1 < instruction.size(); i += 2)
        if (instruction[i] == value)
            return instruction[i + 1];
    return instruction[2];
}

} // namespace

std::vector<std::uint32_t> with_chosen_cases(std::span<const std::uint32_t> module,
                                             std::span<const kernels::SpecializationConstant> constants,
                                             std::span<const std::uint32_t> values) {
    KnownValues known;
    std::vector<std::uint32_t> result(module.begin(), module.begin() + header_words);
    result.reserve(module.size());
    for (std::size_t at = header_words; at < module.size();) {
        const std::uint32_t operation = module[at] & 0xffff, length = module[at] >> 16;
        const auto instruction = module.subspan(at, length);
        at += length;
        if (operation == op_decorate && instruction[2] == decoration_spec_id) {
            if (const auto value = value_of(instruction[3], constants, values))
                known.emplace(instruction[1], *value);
        } else if (operation == op_switch) {
            if (const auto constant = known.find(instruction[1]); constant != known.end()) {
                result.insert(result.end(), {(3u << 16) | op_switch, instruction[1],
                                             chosen_target(instruction, constant->second)});
                continue;
            }
        }
        result.insert(result.end(), instruction.begin(), instruction.end());
    }
    return result;
}

} // namespace rekindle::runtime
