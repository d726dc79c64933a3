#include "writer.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <sstream>

namespace rekindle::kernels::generator {
namespace {

constexpr std::string_view generated =
    "// Made by the build (kernels/generator) from kernels/registry.def and slangc's reflection.\n";

std::string quoted(std::string_view text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            result += '\\';
        result += c;
    }
    return result + '"';
}

std::string module_symbol(const Family& family) {
    return "rekindle_kernels_" + family.name;
}

void write_padding(std::ostream& out, std::uint32_t from, std::uint32_t to, int& paddings) {
    if (to == from)
        return;
    if ((to - from) % sizeof(std::uint32_t) != 0)
        throw Refused("a gap in the push-constant block is no whole number of words");
    for (std::uint32_t at = from; at < to; at += sizeof(std::uint32_t))
        out << "    std::uint32_t padding_" << paddings++ << " = 0;\n";
}

void write_block(std::ostream& out, const Family& family) {
    const std::string name = parameters_name(family.name);
    const Reflection& reflection = family.reflection;
    out << "\n/// The push-constant block of kernels/" << family.name << ".slang.\nstruct " << name << " {\n";
    std::uint32_t end = 0;
    int paddings = 0;
    for (const Field& field : reflection.fields) {
        write_padding(out, end, field.offset, paddings);
        out << "    " << field.type << ' ' << field.name << " = 0;\n";
        end = field.offset + field.bytes;
    }
    write_padding(out, end, reflection.parameter_bytes, paddings);
    out << "};\n";
    for (const Field& field : reflection.fields)
        out << "static_assert(offsetof(" << name << ", " << field.name << ") == " << field.offset
            << " && sizeof(" << name << "::" << field.name << ") == " << field.bytes << ");\n";
    out << "static_assert(sizeof(" << name << ") == " << reflection.parameter_bytes
        << " && std::is_trivially_copyable_v<" << name << ">);\n";
}

void write_constants(std::ostream& out, const Family& family) {
    if (family.reflection.constants.empty())
        return;
    out << "constexpr SpecializationConstant constants_of_" << family.name << "[] = {\n";
    for (const ReflectedConstant& constant : family.reflection.constants) {
        // A constant that no code uses is not in the module; its value does not matter.
        const auto value = family.initial_values.find(constant.id);
        out << "    {" << quoted(constant.name) << ", " << constant.id << ", "
            << (value != family.initial_values.end() ? value->second : 0) << "u},\n";
    }
    out << "};\n";
}

void write_cases(std::ostream& out, const Family& family, std::string_view kernel) {
    std::ostringstream table;
    int number = 0;
    for (const Case& one : family.cases) {
        if (one.kernel != kernel)
            continue;
        std::string values = "{}";
        if (!one.constants.empty()) {
            values = "values_of_" + one.kernel + '_' + std::to_string(number++);
            out << "constexpr ConstantValue " << values << "[] = {";
            for (const auto& [constant, value] : one.constants)
                out << '{' << quoted(constant) << ", " << value << "u}, ";
            out << "};\n";
        }
        table << "    {" << quoted(one.name) << ", " << values << ", Features(" << one.needs.bits()
              << "u)},\n";
    }
    out << "constexpr AuditCase cases_of_" << kernel << "[] = {\n" << table.str() << "};\n";
}

void write_kernel(std::ostream& out, const Family& family, const RegistryEntry& entry) {
    out << "    {" << quoted(entry.name) << ", " << quoted(family.name) << ", " << quoted(entry.brief)
        << ",\n     Features(" << entry.needs.bits() << "u), " << entry.threads << "u, "
        << family.reflection.parameter_bytes << "u, {" << module_symbol(family) << ", "
        << family.module.size() << "u}, ";
    if (family.reflection.constants.empty())
        out << "{}";
    else
        out << "constants_of_" << family.name;
    out << ", cases_of_" << entry.name << "},\n";
}

/// Calls f(family, entry) in the order in which the table lists the kernels: by family, then as registered.
template <class F>
void for_each_kernel(std::span<const Family> families, F&& f) {
    for (const Family& family : families)
        for (const RegistryEntry& entry : family.entries)
            f(family, entry);
}

std::string table_name(const Family& family) {
    return "kernels_of_" + family.name;
}

} // namespace

std::string parameters_name(const std::string& family) {
    std::string name;
    bool capital = true;
    for (const char c : family) {
        if (c != '_')
            name += capital ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
        capital = c == '_';
    }
    return name + "Parameters";
}

std::string family_header(const Family& family) {
    std::ostringstream out;
    out << "#pragma once\n"
        << generated
        << "#include <rekindle/kernels/kernel.h>\n\n#include <cstddef>\n#include <cstdint>\n#include "
           "<type_traits>\n"
        << "\nnamespace rekindle::kernels {\n";
    write_block(out, family);
    out << "\nnamespace detail {\nextern const Kernel " << table_name(family) << '[' << family.entries.size()
        << "];\n}\n\n";
    std::size_t count = 0;
    for (const RegistryEntry& entry : family.entries)
        out << "/// " << entry.brief << ".\ninline constexpr TypedKernel<" << parameters_name(family.name)
            << "> " << entry.name << "{detail::" << table_name(family) << '[' << count++ << "]};\n";
    out << "\n} // namespace rekindle::kernels\n";
    return out.str();
}

std::string launchers_header(std::span<const Family> families) {
    std::ostringstream out;
    out << "#pragma once\n" << generated;
    for (const Family& family : families)
        out << "#include <rekindle/kernels/families/" << family.name << ".h>\n";
    return out.str();
}

std::string table_source(std::span<const Family> families, const std::string& slang_version) {
    std::ostringstream out;
    out << generated << "#include <rekindle/kernels/launchers.h>\n\nextern \"C\" {\n";
    for (const Family& family : families)
        out << "extern const std::uint32_t " << module_symbol(family) << "[];\n";
    out << "}\n\nnamespace rekindle::kernels {\nnamespace {\n";
    for (const Family& family : families)
        write_constants(out, family);
    for_each_kernel(families, [&](const Family& family, const RegistryEntry& entry) {
        write_cases(out, family, entry.name);
    });
    out << "} // namespace\n\n";
    std::ostringstream list;
    for (const Family& family : families) {
        out << "const Kernel detail::" << table_name(family) << "[] = {\n";
        std::size_t count = 0;
        for (const RegistryEntry& entry : family.entries) {
            write_kernel(out, family, entry);
            list << "    &detail::" << table_name(family) << '[' << count++ << "],\n";
        }
        out << "};\n";
    }
    out << "\nnamespace {\nconstexpr const Kernel* list[] = {\n"
        << list.str() << "};\n} // namespace\n\n"
        << "KernelList all() noexcept { return KernelList(list); }\n\n"
        << "std::string_view slang_version() noexcept { return " << quoted(slang_version)
        << "; }\n\n} // namespace rekindle::kernels\n";
    return out.str();
}

std::string modules_assembly(std::span<const Family> families, const std::filesystem::path& folder) {
    std::ostringstream out;
    out << ".section .rodata\n";
    for (const Family& family : families) {
        const std::string symbol = module_symbol(family);
        out << ".global " << symbol << "\n.balign 64\n"
            << symbol << ":\n.incbin " << quoted((folder / (family.name + ".spv")).string()) << '\n';
    }
    out << ".section .note.GNU-stack,\"\",@progbits\n";
    return out.str();
}

void write_file(const std::filesystem::path& file, std::string_view content) {
    if (std::ifstream old(file, std::ios::binary);
        old && std::string(std::istreambuf_iterator<char>(old), {}) == content)
        return;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream stream(file, std::ios::binary | std::ios::trunc);
    stream.write(content.data(), static_cast<std::streamsize>(content.size()));
    if (!stream.flush())
        throw Refused("cannot write " + file.string());
}

} // namespace rekindle::kernels::generator
