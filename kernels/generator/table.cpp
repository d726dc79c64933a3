#include "table.h"

#include "module.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

namespace rekindle::kernels::generator {
namespace {

using Json = nlohmann::ordered_json;

/// The dtype that a module computes in, the macro that its Slang code tests, and the features that all of its
/// kernels need.
struct Dtype {
    std::string_view name, macro;
    Features needs;
};
constexpr Dtype dtypes[] = {{"float32", "", {}},
                            {"float64", "REKINDLE_FLOAT64", Feature::float64},
                            {"int64", "REKINDLE_INT64", {}},
                            {"float16", "REKINDLE_FLOAT16", Feature::float16_arithmetic},
                            {"bfloat16", "REKINDLE_BFLOAT16", Feature::bfloat16_units}};

const Dtype& dtype_named(std::string_view name) {
    const auto* const found = std::ranges::find(dtypes, name, &Dtype::name);
    if (found == std::end(dtypes))
        throw Refused("'" + std::string(name) +
                      "' is not a dtype; the dtypes are float32, float64, int64, float16 "
                      "and bfloat16");
    return *found;
}

Features feature_of(const std::string& name) {
    const Features feature = feature_named(name);
    if (feature.empty())
        throw Refused("'" + name + "' is not a feature (kernels/include/rekindle/kernels/kernel.h)");
    return feature;
}

/// A JSON object of the table. The constructor checks its keys.
class Object {
  public:
    Object(const Json& json, std::initializer_list<std::string_view> keys) : json_(json) {
        if (!json.is_object())
            throw Refused("expected an object, found " + json.dump());
        for (const auto& [key, value] : json.items())
            if (std::ranges::find(keys, key) == keys.end())
                throw Refused("unknown key '" + key + "'");
    }
    std::string text(const char* key) const {
        const Json& value = required(key);
        if (!value.is_string())
            throw Refused("'" + std::string(key) + "' must be a string");
        return value.get<std::string>();
    }
    const Json& required(const char* key) const {
        if (!json_.contains(key))
            throw Refused("'" + std::string(key) + "' is missing");
        return json_[key];
    }
    const Json& list(const char* key) const {
        const Json& value = required(key);
        if (!value.is_array() || value.empty())
            throw Refused("'" + std::string(key) + "' must be a list that is not empty");
        return value;
    }
    bool has(const char* key) const { return json_.contains(key); }

  private:
    const Json& json_;
};

std::vector<std::string> words_of(const Json& list, std::string_view key) {
    std::vector<std::string> words;
    for (const Json& word : list) {
        if (!word.is_string())
            throw Refused("'" + std::string(key) + "' must hold strings");
        words.push_back(word.get<std::string>());
    }
    return words;
}

Features needs_of(const Json& json) {
    Features needs;
    if (json.contains("needs"))
        for (const std::string& name : words_of(json["needs"], "needs"))
            needs = needs | feature_of(name);
    return needs;
}

/// Whether the kernel or variant exists in a dtype of its family.
bool is_for(const Json& json, std::string_view dtype) {
    if (!json.contains("dtypes"))
        return true;
    const std::vector<std::string> names = words_of(json["dtypes"], "dtypes");
    for (const std::string& name : names)
        dtype_named(name);
    return std::ranges::find(names, dtype) != names.end();
}

std::string joined(std::string_view shape, std::string_view separator) {
    std::string text;
    for (const char c : shape)
        text += c == 'x' ? std::string(separator) : std::string(1, c);
    return text;
}

/// Replaces each {key} in the text with the variant's value, and writes a shape such as 16x16x16 with
/// `separator` between its numbers.
std::string filled(std::string_view text, const Json& variant, std::string_view separator) {
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t open = text.find('{', at), close = text.find('}', open);
        result += text.substr(at, open - at);
        if (close == std::string_view::npos)
            break;
        const std::string key(text.substr(open + 1, close - open - 1));
        if (!variant.contains(key))
            throw Refused("no value for {" + key + "}");
        const Json& value = variant[key];
        result += value.is_string() ? joined(value.get<std::string>(), separator) : value.dump();
        at = close + 1;
    }
    return result;
}

/// "product_units" for "product_units_{rows}x{columns}_{unit}".
std::string stem_of(std::string_view name) {
    const std::size_t open = name.find('{');
    if (open == std::string_view::npos || open == 0 || name[open - 1] != '_')
        throw Refused(
            "the name of a kernel with variants must contain a variable such as {rows} after an underscore");
    return std::string(name.substr(0, open - 1));
}

std::uint32_t threads_of(const Json& kernel, const Json& variant) {
    const Json& threads =
        kernel["threads"].is_string() ? variant.value("threads", Json()) : kernel["threads"];
    if (!threads.is_number_unsigned())
        throw Refused("'threads' must be a number, or \"{threads}\" with a number in each variant");
    return threads.get<std::uint32_t>();
}

void add_variant(TableEntry& entry, const Json& kernel, const Json& variant) {
    entry.variants = stem_of(kernel["name"].get<std::string>());
    for (const auto& [key, value] : variant.items()) {
        if (key == "needs" || key == "dtypes")
            continue;
        if (key == "unit")
            entry.unit = feature_of("matrix_" + value.get<std::string>());
        else if (value.is_number_unsigned())
            entry.numbers.emplace_back(key, value.get<std::uint32_t>());
        else
            throw Refused("the value of '" + key + "' must be a number");
    }
    entry.needs = entry.needs | needs_of(variant) | entry.unit;
}

TableEntry entry_of(const TableModule& module, const Json& kernel, const Json& variant, bool several_dtypes,
                    bool is_first_dtype) {
    TableEntry entry;
    entry.module = module.name;
    entry.family = module.family;
    entry.dtype = module.dtype;
    entry.name = filled(kernel["name"].get<std::string>(), variant, "x");
    if (!is_first_dtype)
        entry.name += suffix_of(module.dtype);
    entry.brief = filled(kernel["brief"].get<std::string>(), variant, " x ");
    if (several_dtypes)
        entry.brief += ", in " + module.dtype;
    entry.body = filled(kernel["body"].get<std::string>(), variant, ", ");
    entry.threads = threads_of(kernel, variant);
    entry.needs = module.needs | needs_of(kernel);
    if (kernel.contains("variants"))
        add_variant(entry, kernel, variant);
    return entry;
}

void add_kernel(TableModule& module, const Json& json, bool several_dtypes, bool is_first_dtype) {
    const Object kernel(json, {"name", "brief", "threads", "needs", "dtypes", "body", "variants"});
    for (const char* key : {"name", "brief", "body"})
        static_cast<void>(kernel.text(key));
    static_cast<void>(kernel.required("threads"));
    if (!is_for(json, module.dtype))
        return;
    const Json none = Json::array({Json::object()});
    for (const Json& variant : kernel.has("variants") ? kernel.list("variants") : none)
        if (is_for(variant, module.dtype))
            module.entries.push_back(entry_of(module, json, variant, several_dtypes, is_first_dtype));
}

void add_family(std::vector<TableModule>& modules, const Json& json) {
    const Object family(json, {"family", "source", "dtypes", "needs", "kernels"});
    const std::string name = family.text("family"), source = family.text("source");
    if (std::filesystem::path(source).stem() != name)
        throw Refused("'source' must be a file with the family's name");
    const std::vector<std::string> names = family.has("dtypes") ? words_of(family.list("dtypes"), "dtypes")
                                                                : std::vector<std::string>{"float32"};
    for (const std::string& dtype : names) {
        const bool is_first = dtype == names.front();
        TableModule module{name + (is_first ? "" : suffix_of(dtype)), name, source, dtype,
                           needs_of(json) | dtype_named(dtype).needs, {}};
        for (const Json& kernel : family.list("kernels")) {
            try {
                add_kernel(module, kernel, names.size() > 1, is_first);
            } catch (const Refused& e) {
                throw Refused("the kernel " + (kernel.is_object() ? kernel.value("name", "?") : "?") + ": " +
                              e.what());
            }
        }
        if (module.entries.empty())
            throw Refused("no kernel for " + dtype);
        modules.push_back(std::move(module));
    }
}

void refuse_repeated_names(std::span<const TableModule> modules) {
    std::set<std::string_view> names;
    for (const TableModule& module : modules)
        for (const TableEntry& entry : module.entries)
            if (!names.insert(entry.name).second)
                throw Refused("two kernels have the name '" + entry.name + "'");
    std::set<std::string_view> families;
    for (const TableModule& module : modules)
        if (!families.insert(module.name).second)
            throw Refused("two families have the name '" + module.name + "'");
}

} // namespace

std::string suffix_of(std::string_view dtype) {
    return "_" + std::string(dtype);
}

std::vector<TableModule> parse_table(std::string_view text) {
    std::vector<TableModule> modules;
    Json json;
    try {
        json = Json::parse(text);
    } catch (const nlohmann::json::exception& e) {
        throw Refused(e.what());
    }
    if (!json.is_array() || json.empty())
        throw Refused("the table must be a list of families");
    for (const Json& family : json) {
        try {
            add_family(modules, family);
        } catch (const Refused& e) {
            throw Refused("the family " + (family.is_object() ? family.value("family", "?") : "?") + ": " +
                          e.what());
        }
    }
    refuse_repeated_names(modules);
    return modules;
}

std::vector<TableModule> read_table(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    if (!stream)
        throw Refused("cannot read " + file.string());
    try {
        return parse_table(text);
    } catch (const Refused& e) {
        throw Refused(file.string() + ": " + e.what());
    }
}

std::string module_source(const TableModule& module) {
    std::ostringstream out;
    out << "// Generated by the build from kernels/kernels.json.\n";
    if (const std::string_view macro = dtype_named(module.dtype).macro; !macro.empty())
        out << "#define " << macro << '\n';
    out << "#include \"" << module.source << "\"\n";
    for (const TableEntry& entry : module.entries)
        out << "\n[shader(\"compute\")]\n[numthreads(" << entry.threads << ", 1, 1)]\nvoid " << entry.name
            << "(uint3 group: SV_GroupID, uint thread: SV_GroupIndex) {\n    " << entry.body << ";\n}\n";
    return out.str();
}

} // namespace rekindle::kernels::generator
