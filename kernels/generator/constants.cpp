#include "constants.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <sstream>
#include <string_view>

namespace rekindle::kernels::generator {
namespace {

/// "slot12_weights".
struct NumberedName {
    std::string array, field;
    std::size_t number = 0;
};

std::optional<NumberedName> numbered(std::string_view name) {
    constexpr std::string_view digits = "0123456789";
    const auto first = name.find_first_of(digits);
    const auto end = std::min(name.find_first_not_of(digits, first), name.size());
    if (first == 0 || first == name.npos || name[first - 1] == '_' || end + 1 >= name.size() ||
        name[end] != '_')
        return std::nullopt;
    NumberedName result{std::string(name.substr(0, first)), std::string(name.substr(end + 1)), 0};
    std::from_chars(name.data() + first, name.data() + end, result.number);
    return result;
}

/// Numbered constants of one name, as an array of structs.
struct ConstantArray {
    std::size_t count = 0;
    std::vector<SharedConstant> fields; ///< of each element
};
using Arrays = std::map<std::string, ConstantArray>;

Arrays arrays_of(std::span<const SharedConstant> constants) {
    std::map<std::string, std::map<std::size_t, std::vector<SharedConstant>>> elements;
    for (const SharedConstant& constant : constants)
        if (const auto name = numbered(constant.name))
            elements[name->array][name->number].push_back({name->field, constant.initial});
    Arrays arrays;
    for (const auto& [array, numbers] : elements) {
        const std::vector<SharedConstant>& first = numbers.begin()->second;
        const auto all_equal = [&](auto member) {
            return std::ranges::all_of(numbers, [&](const auto& element) {
                return std::ranges::equal(element.second, first, {}, member, member);
            });
        };
        const std::string subject = "the numbered constants '" + array + "…' ";
        if (!all_equal(&SharedConstant::name) || numbers.rbegin()->first + 1 != numbers.size())
            throw Refused(subject + "do not have the same names, in the same order, for each number from 0");
        if (!all_equal(&SharedConstant::initial))
            throw Refused(subject + "have different initial values");
        arrays[array] = {numbers.size(), first};
    }
    return arrays;
}

void write_field(std::ostream& out, const std::string& indent, const SharedConstant& constant) {
    if (constant.initial)
        out << indent << "std::uint32_t " << constant.name << " = " << *constant.initial << "u;\n";
    else
        out << indent << "RequiredConstant " << constant.name << ";\n";
}

void write_nested_struct(std::ostream& out, const std::string& array, const ConstantArray& of) {
    out << "    struct " << type_prefix(array) << " {\n";
    for (const SharedConstant& field : of.fields)
        write_field(out, "        ", field);
    out << "    };\n";
}

/// The fields in the order of the constants; an array at its first element.
void write_fields(std::ostream& out, std::span<const SharedConstant> constants, Arrays arrays) {
    for (const SharedConstant& constant : constants) {
        const auto name = numbered(constant.name);
        if (!name)
            write_field(out, "    ", constant);
        else if (const auto array = arrays.extract(name->array))
            out << "    std::array<" << type_prefix(name->array) << ", " << array.mapped().count << "> "
                << name->array << "{};\n";
    }
}

void write_list(std::ostream& out, std::span<const SharedConstant> constants) {
    out << "\n    /// All of them, in the order of Kernel::constants.\n"
           "    constexpr std::array<ConstantValue, "
        << constants.size() << "> list() const {\n        return {{\n";
    for (const SharedConstant& constant : constants) {
        const auto name = numbered(constant.name);
        out << "            {\"" << constant.name << "\", "
            << (name ? name->array + '[' + std::to_string(name->number) + "]." + name->field : constant.name)
            << "},\n";
    }
    out << "        }};\n    }\n";
}

/// The initial value of a constant in a module; empty if the module lacks it because no code uses it.
std::optional<std::uint32_t> value_in(const Family& module, const ReflectedConstant& constant) {
    const auto value = module.initial_values.find(constant.id);
    return value != module.initial_values.end() ? std::optional(value->second) : std::nullopt;
}

void check_names(const Family& module, const Family& first) {
    if (!std::ranges::equal(module.reflection.constants, first.reflection.constants, {},
                            &ReflectedConstant::name, &ReflectedConstant::name))
        throw Refused(
            module.name + " has other specialization constants than " + first.name +
            ", or in another order; the dtypes of a family share one struct of them, so declare them "
            "outside of #ifdef REKINDLE_FLOAT64 and REKINDLE_INT64");
}

SharedConstant shared_constant(std::span<const Family* const> modules, std::size_t i) {
    SharedConstant result{modules.front()->reflection.constants[i].name, std::nullopt};
    for (const Family* module : modules) {
        const auto value = value_in(*module, module->reflection.constants[i]);
        if (value && result.initial && *value != *result.initial)
            return {result.name, std::nullopt};
        if (value)
            result.initial = value;
    }
    return {result.name, result.initial.value_or(0)};
}

} // namespace

std::vector<SharedConstant> shared_constants(std::span<const Family* const> modules) {
    const Family& first = *modules.front();
    for (const Family* module : modules)
        check_names(*module, first);
    std::vector<SharedConstant> constants;
    for (std::size_t i = 0; i < first.reflection.constants.size(); ++i)
        constants.push_back(shared_constant(modules, i));
    return constants;
}

std::string constants_struct(const std::string& name, std::span<const SharedConstant> constants) {
    const Arrays arrays = arrays_of(constants);
    std::ostringstream out;
    out << "struct " << name << " {\n";
    for (const auto& [array, of] : arrays)
        write_nested_struct(out, array, of);
    write_fields(out, constants, arrays);
    write_list(out, constants);
    out << "};\n";
    return out.str();
}

std::string type_prefix(const std::string& name) {
    std::string type;
    bool capital = true;
    for (const char c : name) {
        if (c != '_')
            type += capital ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
        capital = c == '_';
    }
    return type;
}

} // namespace rekindle::kernels::generator
