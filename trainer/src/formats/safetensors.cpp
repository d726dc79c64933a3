#include "element_type.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/trainer/safetensors.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

namespace rekindle::trainer {

namespace {

using nlohmann::json;

constexpr std::size_t length_size = 8;
constexpr std::uint64_t max_header = 16U << 20; // the format's own reader allows 100 MB
constexpr std::size_t tensor_alignment = 64;

constexpr std::array<std::pair<std::string_view, ElementType>, 10> type_names{{
    {"F64", ElementType::float64},
    {"F32", ElementType::float32},
    {"F16", ElementType::float16},
    {"BF16", ElementType::bfloat16},
    {"I64", ElementType::int64},
    {"I32", ElementType::int32},
    {"I16", ElementType::int16},
    {"I8", ElementType::int8},
    {"U8", ElementType::uint8},
    {"BOOL", ElementType::boolean},
}};

[[noreturn]] void fail(const std::string& what, const std::string& name) {
    throw usage_error(what).at(name).expected("a valid safetensors file");
}

/// JSON of the header; nesting and duplicate names are refused while it is read.
json parse_header(std::string_view text, const std::string& name) {
    std::set<std::string> names;
    const auto check = [&](int depth, json::parse_event_t event, json& parsed) {
        if (depth > 3)
            fail("the header is nested too deeply", name);
        if (depth == 1 && event == json::parse_event_t::key &&
            !names.insert(parsed.get<std::string>()).second)
            fail(fmt::format("the tensor '{}' appears twice in the header", parsed.get<std::string>()), name);
        return true;
    };
    try {
        json header = json::parse(text, check);
        if (header.is_object())
            return header;
    } catch (const json::exception& error) {
        fail(fmt::format("the header is not JSON ({})", error.what()), name);
    }
    fail("the header is not a JSON object", name);
}

struct Entry {
    std::string name;
    ElementType type = ElementType::float32;
    std::vector<std::size_t> shape;
    std::uint64_t begin = 0, end = 0, elements = 1;
};

Entry parse_entry(const std::string& key, const json& value, const std::string& name) {
    const auto bad = [&](std::string_view what) { fail(fmt::format("tensor '{}': {}", key, what), name); };
    Entry entry;
    entry.name = key;
    if (!value.is_object() || !value.contains("dtype") || !value.contains("shape") ||
        !value.contains("data_offsets"))
        bad("dtype, shape or data_offsets are missing");
    const json &dtype = value["dtype"], &shape = value["shape"], &offsets = value["data_offsets"];
    const auto type = std::ranges::find_if(type_names, [&](const auto& known) {
        return dtype.is_string() && dtype.get_ref<const std::string&>() == known.first;
    });
    if (type == type_names.end())
        bad("its type is not supported");
    entry.type = type->second;
    if (!shape.is_array() || !offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned())
        bad("its shape or offsets are not lists of whole numbers");
    for (const json& extent : shape) {
        if (!extent.is_number_unsigned())
            bad("its shape is not a list of whole numbers");
        entry.shape.push_back(extent.get<std::size_t>());
        if (__builtin_mul_overflow(entry.elements, extent.get<std::uint64_t>(), &entry.elements))
            bad("its shape is too large");
    }
    entry.begin = offsets[0].get<std::uint64_t>();
    entry.end = offsets[1].get<std::uint64_t>();
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(entry.elements, std::uint64_t{size_of(entry.type)}, &bytes) ||
        entry.end < entry.begin || entry.end - entry.begin != bytes)
        bad("its shape and its offsets contradict each other");
    return entry;
}

std::string shortened(const std::string& text) {
    return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

} // namespace

SafeTensors parse_safetensors(std::string_view bytes, const std::string& name) {
    if (bytes.size() < length_size)
        fail("the file has " + counted(bytes.size(), "byte"), name);
    const auto header_size = load_as<std::uint64_t>(bytes.data(), false);
    if (header_size > bytes.size() - length_size || header_size > max_header)
        fail(fmt::format("the header announces {} in a file of {}", counted(header_size, "byte"),
                         bytes.size()),
             name);
    const json header = parse_header(bytes.substr(length_size, static_cast<std::size_t>(header_size)), name);
    const std::string_view data = bytes.substr(length_size + static_cast<std::size_t>(header_size));

    SafeTensors result;
    std::vector<Entry> entries;
    for (const auto& [key, value] : header.items()) {
        if (key != "__metadata__") {
            entries.push_back(parse_entry(key, value, name));
            continue;
        }
        if (!value.is_object())
            fail("__metadata__ is not an object", name);
        for (const auto& [label, text] : value.items()) {
            if (!text.is_string())
                fail(fmt::format("__metadata__ entry {} is not text", shortened(label)), name);
            result.metadata.emplace(label, text.get<std::string>());
        }
    }
    std::ranges::sort(entries, {}, [](const Entry& entry) { return std::pair(entry.begin, entry.end); });
    std::uint64_t position = 0;
    for (const Entry& entry : entries) {
        if (entry.begin != position || entry.end > data.size())
            fail(fmt::format("tensor '{}' is at bytes {} to {}; the data before it ends at {} of {}",
                             entry.name, entry.begin, entry.end, position, data.size()),
                 name);
        position = entry.end;
        mlp::NamedTensor tensor{entry.name, entry.shape,
                                std::vector<float>(static_cast<std::size_t>(entry.elements))};
        const std::size_t width = size_of(entry.type);
        for (std::size_t i = 0; i < tensor.values.size(); ++i)
            tensor.values[i] = load_element<float>(data.data() + entry.begin + i * width, entry.type, false);
        result.tensors.push_back(std::move(tensor));
    }
    if (position != data.size())
        fail(counted(data.size() - position, "byte of data belongs", "bytes of data belong") +
                 " to no tensor",
             name);
    return result;
}

SafeTensors read_safetensors(const std::filesystem::path& path) {
    const MappedFile file(path);
    return parse_safetensors(file.text(), path.string());
}

namespace {

/// Everything before the data. `elements` is the product of each tensor's shape.
std::string header_of(std::span<const StreamedTensor> tensors, const std::vector<std::uint64_t>& elements,
                      const std::map<std::string, std::string>& metadata) {
    nlohmann::ordered_json header = nlohmann::ordered_json::object();
    if (!metadata.empty())
        header["__metadata__"] = metadata;
    std::uint64_t position = 0;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (header.contains(tensors[i].name))
            throw internal_error("two tensors are named " + tensors[i].name);
        const std::uint64_t end = position + elements[i] * sizeof(float);
        header[tensors[i].name] = {
            {"dtype", "F32"}, {"shape", tensors[i].shape}, {"data_offsets", {position, end}}};
        position = end;
    }
    std::string text = header.dump();
    // The format allows spaces after the JSON text; they align the data.
    text.append((tensor_alignment - (length_size + text.size()) % tensor_alignment) % tensor_alignment, ' ');
    std::string bytes;
    for (std::size_t i = 0; i < length_size; ++i)
        bytes.push_back(static_cast<char>((std::uint64_t{text.size()} >> (8 * i)) & 0xffU));
    return bytes + text;
}

} // namespace

void write_safetensors(const std::filesystem::path& path, std::span<const StreamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata) {
    std::vector<std::uint64_t> elements;
    for (const StreamedTensor& tensor : tensors)
        elements.push_back(
            std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::uint64_t{1}, std::multiplies<>()));
    AtomicFile file(path);
    file.write(header_of(tensors, elements, metadata));
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        std::uint64_t left = elements[i];
        tensors[i].values([&](std::span<const float> values) {
            if (values.size() > left)
                throw internal_error("tensor " + tensors[i].name + " has more values than its shape");
            left -= values.size();
            file.write(std::as_bytes(values));
        });
        if (left > 0)
            throw internal_error("tensor " + tensors[i].name + " has fewer values than its shape");
    }
    file.commit();
}

void write_safetensors(const std::filesystem::path& path, std::span<const mlp::NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata) {
    std::vector<StreamedTensor> streamed;
    for (const mlp::NamedTensor& tensor : tensors)
        streamed.push_back(
            {tensor.name, tensor.shape, [&tensor](const FloatSink& put) { put(tensor.values); }});
    write_safetensors(path, streamed, metadata);
}

} // namespace rekindle::trainer
