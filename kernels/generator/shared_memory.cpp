#include "shared_memory.h"

#include "instructions.h"

namespace rekindle::kernels::generator {
namespace {

constexpr std::uint32_t storage_class_workgroup = 4;

bool is_type(std::uint16_t operation) {
    return operation == op_type_int || operation == op_type_float || operation == op_type_vector ||
           operation == op_type_array || operation == op_type_struct || operation == op_type_pointer;
}

bool is_constant(std::uint16_t operation) {
    return operation == op_constant || operation == op_spec_constant || operation == op_spec_constant_op;
}

} // namespace

SharedMemory::SharedMemory(std::span<const std::uint32_t> module) {
    for_each_instruction(module, [&](const Instruction& instruction) {
        const auto& [operation, words] = instruction;
        if (is_type(operation)) {
            need_words(instruction, 3);
            definitions_[words[1]] = {operation, {words.begin() + 2, words.end()}};
        } else if (is_constant(operation)) {
            need_words(instruction, 4);
            definitions_[words[2]] = {operation, {words.begin() + 3, words.end()}};
        } else if (operation == op_decorate && words.size() == 4 && words[2] == decoration_spec_id) {
            constant_ids_[words[1]] = words[3];
        } else if (operation == op_variable) {
            need_words(instruction, 4);
            if (words[3] == storage_class_workgroup) // the pointer's operands: storage class, type
                variables_[words[2]] = definition(words[1]).operands.at(1);
        } else if (operation == op_entry_point) {
            need_words(instruction, 4);
            const std::string name = literal(words.subspan(3));
            const auto after = words.subspan(3 + name.size() / sizeof(std::uint32_t) + 1);
            interfaces_[name].assign(after.begin(), after.end());
        }
    });
    for (const auto& [variable, type] : variables_)
        static_cast<void>(size_of(type, {}));
}

std::uint64_t SharedMemory::bytes(std::string_view entry, const Values& values) const {
    const auto interface = interfaces_.find(entry);
    if (interface == interfaces_.end())
        throw Refused("the module has no entry point '" + std::string(entry) + "'");
    std::uint64_t total = 0;
    for (const Id id : interface->second)
        if (const auto variable = variables_.find(id); variable != variables_.end())
            total += size_of(variable->second, values);
    return total;
}

const SharedMemory::Definition& SharedMemory::definition(Id id) const {
    const auto found = definitions_.find(id);
    if (found == definitions_.end())
        throw Refused("a shared variable depends on %" + std::to_string(id) +
                      ", which is neither a number nor a vector, array, struct or constant of numbers");
    return found->second;
}

std::uint64_t SharedMemory::size_of(Id type, const Values& values) const {
    const Definition& of = definition(type);
    switch (of.operation) {
    case op_type_int:
    case op_type_float:
        return of.operands[0] / 8;
    case op_type_vector:
        return of.operands.at(1) * size_of(of.operands[0], values);
    case op_type_array:
        return value_of(of.operands.at(1), values) * size_of(of.operands[0], values);
    case op_type_struct: {
        std::uint64_t total = 0;
        for (const Id member : of.operands)
            total += size_of(member, values);
        return total;
    }
    default:
        throw Refused("a shared variable has a type whose size is unknown");
    }
}

std::uint64_t SharedMemory::value_of(Id constant, const Values& values) const {
    const Definition& of = definition(constant);
    if (of.operation == op_spec_constant) {
        const auto id = constant_ids_.find(constant);
        const auto value = id == constant_ids_.end() ? values.end() : values.find(id->second);
        return value != values.end() ? value->second : of.operands[0];
    }
    if (of.operation == op_constant)
        return of.operands[0];
    if (of.operation == op_spec_constant_op && of.operands[0] == op_i_add)
        return value_of(of.operands.at(1), values) + value_of(of.operands.at(2), values);
    throw Refused("the length of a shared array is neither a constant nor a sum of constants");
}

Features feature_for_shared_bytes(std::uint64_t bytes) {
    if (bytes <= 32'768)
        return {};
    if (bytes <= 49'152)
        return Feature::shared_48k;
    if (bytes <= 65'536)
        return Feature::shared_64k;
    throw Refused("it uses " + std::to_string(bytes) + " bytes of shared memory; the most is 65,536");
}

} // namespace rekindle::kernels::generator
