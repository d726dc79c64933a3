#include "reflection.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace rekindle::kernels::generator {
namespace {

using nlohmann::json;

std::string type_in_cpp(const json& type, const std::string& field) {
    if (type.at("kind") == "pointer")
        return "std::uint64_t";
    if (type.at("kind") == "scalar") {
        const std::string scalar = type.at("scalarType");
        if (scalar == "float32")
            return "float";
        for (const char* known : {"uint64", "int64", "uint32", "int32"})
            if (scalar == known)
                return "std::" + scalar + "_t";
    }
    throw Refused(
        "the push-constant field '" + field +
        "' is neither an address nor a number of 32 or 64 bits (bool, vectors, arrays and structs are not "
        "laid out the same way in C++)");
}

void read_block(const json& block, Reflection& reflection) {
    const json& layout = block.at("type").at("elementVarLayout");
    reflection.parameter_bytes = layout.at("binding").at("size");
    if (reflection.parameter_bytes > maximum_parameter_bytes)
        throw Refused("the push-constant block is " + std::to_string(reflection.parameter_bytes) +
                      " bytes; every device supports at most " + std::to_string(maximum_parameter_bytes));
    for (const json& field : layout.at("type").at("fields")) {
        const std::string name = field.at("name");
        reflection.fields.push_back({name, type_in_cpp(field.at("type"), name),
                                     field.at("binding").at("offset"), field.at("binding").at("size")});
    }
    std::ranges::sort(reflection.fields, {}, &Field::offset);
}

void read_constant(const json& constant, Reflection& reflection) {
    const std::string name = constant.at("name");
    if (constant.at("type").at("kind") != "scalar" || constant.at("type").at("scalarType") != "uint32")
        throw Refused("the specialization constant '" + name + "' is not a uint");
    reflection.constants.push_back({name, constant.at("binding").at("index")});
}

Reflection read(const json& root) {
    Reflection reflection;
    for (const json& parameter : root.at("parameters")) {
        const std::string kind = parameter.at("binding").at("kind");
        if (kind == "pushConstantBuffer")
            read_block(parameter, reflection);
        else if (kind == "specializationConstant")
            read_constant(parameter, reflection);
        else
            throw Refused("the global '" + parameter.at("name").get<std::string>() + "' is a " + kind +
                          "; kernels may only have a push-constant block and specialization constants");
    }
    for (const json& entry : root.at("entryPoints")) {
        const json& threads = entry.at("threadGroupSize");
        reflection.entries.push_back({entry.at("name"), {threads.at(0), threads.at(1), threads.at(2)}});
    }
    return reflection;
}

} // namespace

Reflection parse_reflection(std::string_view text) {
    try {
        return read(json::parse(text));
    } catch (const json::exception& e) {
        throw Refused(std::string("this is not slangc's reflection output: ") + e.what());
    }
}

Reflection read_reflection(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream)
        throw Refused("cannot open " + file.string());
    return parse_reflection(std::string(std::istreambuf_iterator<char>(stream), {}));
}

} // namespace rekindle::kernels::generator
