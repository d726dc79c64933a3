#include "module.h"

#include "instructions.h"

#include <algorithm>
#include <fstream>
#include <set>

namespace rekindle::kernels::generator {
namespace {

constexpr std::uint32_t magic = 0x07230203;
constexpr std::size_t header_words = module_header_words;

constexpr std::uint32_t storage_class_physical = 5349;

/// A capability and the features that a device must have for it; none if every supported device has the
/// capability.
struct Capability {
    std::uint32_t number;
    Features needs;
};

const Capability known_capabilities[] = {
    {1, {}},                               // Shader
    {9, {Feature::float16_arithmetic}},    // Float16
    {10, {Feature::float64}},              // Float64
    {11, {}},                              // Int64
    {12, {Feature::int64_atomics}},        // Int64Atomics
    {22, {}},                              // Int16
    {39, {Feature::int8_arithmetic}},      // Int8
    {61, {Feature::subgroup_basic}},       // GroupNonUniform
    {62, {Feature::subgroup_basic}},       // GroupNonUniformVote
    {63, {Feature::subgroup_arithmetic}},  // GroupNonUniformArithmetic
    {64, {Feature::subgroup_basic}},       // GroupNonUniformBallot
    {65, {Feature::subgroup_shuffle}},     // GroupNonUniformShuffle
    {66, {Feature::subgroup_shuffle}},     // GroupNonUniformShuffleRelative
    {4433, {Feature::storage_16bit}},      // StorageBuffer16BitAccess
    {4434, {Feature::storage_16bit}},      // UniformAndStorageBuffer16BitAccess
    {4448, {Feature::storage_8bit}},       // StorageBuffer8BitAccess
    {4449, {Feature::storage_8bit}},       // UniformAndStorageBuffer8BitAccess
    {5345, {}},                            // VulkanMemoryModel
    {5346, {}},                            // VulkanMemoryModelDeviceScope
    {5347, {}},                            // PhysicalStorageBufferAddresses
    {5116, {Feature::bfloat16_units}},     // BFloat16TypeKHR
    {5118, {Feature::bfloat16_units}},     // BFloat16CooperativeMatrixKHR
    {6022, {Feature::cooperative_matrix}}, // CooperativeMatrixKHR
};

} // namespace

std::string literal(std::span<const std::uint32_t> words) {
    std::string text;
    for (const std::uint32_t word : words)
        for (int byte = 0; byte < 4; ++byte) {
            const char c = static_cast<char>(word >> (8 * byte) & 0xff);
            if (c == 0)
                return text;
            text += c;
        }
    throw Refused("a string has no terminating zero byte");
}

void need_words(const Instruction& instruction, std::size_t count) {
    if (instruction.words.size() < count)
        throw Refused("operation " + std::to_string(instruction.operation) + " is too short");
}

void check_structure(std::span<const std::uint32_t> module) {
    if (module.size() < header_words || module[0] != magic)
        throw Refused("this is not SPIR-V in this machine's byte order");
    for_each_instruction(module, [](const Instruction&) {});
}

Words read_module(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary | std::ios::ate);
    if (!stream)
        throw Refused("cannot open " + file.string());
    const auto bytes = static_cast<std::size_t>(stream.tellg());
    if (bytes % sizeof(std::uint32_t) != 0)
        throw Refused(file.string() + " is not a whole number of words long");
    Words words(bytes / sizeof(std::uint32_t));
    stream.seekg(0);
    if (!stream.read(reinterpret_cast<char*>(words.data()), static_cast<std::streamsize>(bytes)))
        throw Refused("cannot read " + file.string());
    check_structure(words);
    return words;
}

Words stripped(std::span<const std::uint32_t> module) {
    static const std::set<std::uint16_t> for_people = {op_source_continued,
                                                       op_source,
                                                       op_source_extension,
                                                       op_name,
                                                       op_member_name,
                                                       op_string,
                                                       op_line,
                                                       op_no_line,
                                                       op_module_processed};
    Words result(module.begin(), module.begin() + header_words);
    for_each_instruction(module, [&](const Instruction& instruction) {
        if (!for_people.contains(instruction.operation))
            result.insert(result.end(), instruction.words.begin(), instruction.words.end());
    });
    return result;
}

std::vector<std::string> functions_with_logical_copies(std::span<const std::uint32_t> module) {
    std::map<std::uint32_t, std::string> names;
    std::vector<std::string> functions;
    std::uint32_t function = 0;
    for_each_instruction(module, [&](const Instruction& instruction) {
        if (instruction.operation == op_name) {
            need_words(instruction, 3);
            names[instruction.words[1]] = literal(instruction.words.subspan(2));
        } else if (instruction.operation == op_function) {
            need_words(instruction, 5);
            function = instruction.words[2];
        } else if (instruction.operation == op_copy_logical) {
            const auto name = names.find(function);
            functions.push_back(name != names.end() ? name->second : '%' + std::to_string(function));
        }
    });
    functions.erase(std::unique(functions.begin(), functions.end()), functions.end());
    return functions;
}

namespace {

/// The features that loads and stores by address need. They follow from the types, because slangc declares no
/// capability for 8-bit and 16-bit elements in memory.
Features features_of_memory(std::span<const std::uint32_t> module) {
    std::map<std::uint32_t, Features> types; // what a type needs in memory, by id
    Features needs;
    for_each_instruction(module, [&](const Instruction& instruction) {
        const auto& [operation, words] = instruction;
        if (operation == op_type_int || operation == op_type_float) {
            need_words(instruction, 3);
            types[words[1]] = words[2] == 8    ? Features(Feature::storage_8bit)
                              : words[2] == 16 ? Features(Feature::storage_16bit)
                                               : Features();
        } else if (operation == op_type_vector || operation == op_type_array) {
            need_words(instruction, 4);
            types[words[1]] = types[words[2]];
        } else if (operation == op_type_struct) {
            for (const std::uint32_t member : words.subspan(2))
                types[words[1]] = types[words[1]] | types[member];
        } else if (operation == op_type_pointer && words.size() == 4 && words[2] == storage_class_physical) {
            needs = needs | types[words[3]];
        }
    });
    return needs;
}

} // namespace

Features needed_features(std::span<const std::uint32_t> module) {
    Features needs = features_of_memory(module);
    for_each_instruction(module, [&](const Instruction& instruction) {
        if (instruction.operation != op_capability)
            return;
        need_words(instruction, 2);
        const auto* known = std::ranges::find(known_capabilities, instruction.words[1], &Capability::number);
        if (known == std::end(known_capabilities))
            throw Refused("the module declares SPIR-V capability " + std::to_string(instruction.words[1]) +
                          ", which kernels/generator/module.cpp does not list with the feature it needs");
        needs = needs | known->needs;
    });
    return needs;
}

Features features_of_capabilities() noexcept {
    Features features;
    for (const Capability& capability : known_capabilities)
        features = features | capability.needs;
    return features;
}

std::map<std::uint32_t, std::uint32_t> constant_values(std::span<const std::uint32_t> module) {
    std::map<std::uint32_t, std::uint32_t> ids_of_results, values;
    for_each_instruction(module, [&](const Instruction& instruction) {
        const auto& words = instruction.words;
        if (instruction.operation == op_decorate && words.size() == 4 && words[2] == decoration_spec_id)
            ids_of_results[words[1]] = words[3];
        if (instruction.operation == op_spec_constant_true || instruction.operation == op_spec_constant_false)
            throw Refused("a specialization constant is a bool; make it a uint");
        if (instruction.operation != op_spec_constant)
            return;
        need_words(instruction, 4);
        const auto id = ids_of_results.find(words[2]);
        if (id == ids_of_results.end())
            return;
        if (words.size() != 4)
            throw Refused("specialization constant " + std::to_string(id->second) + " does not have 32 bits");
        values[id->second] = words[3];
    });
    return values;
}

std::vector<std::string> entry_points(std::span<const std::uint32_t> module) {
    std::vector<std::string> names;
    for_each_instruction(module, [&](const Instruction& instruction) {
        if (instruction.operation == op_entry_point) {
            need_words(instruction, 4);
            names.push_back(literal(instruction.words.subspan(3)));
        }
    });
    return names;
}

} // namespace rekindle::kernels::generator
