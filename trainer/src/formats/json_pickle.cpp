#include "json_pickle.h"

namespace rekindle::trainer {

namespace {

constexpr int max_depth = 32;
constexpr std::size_t max_values = 1'000'000; // shared lists can expand exponentially

nlohmann::ordered_json json_from(PickleValue value, int depth, std::size_t& budget) {
    if (depth > max_depth || budget == 0)
        return nullptr;
    --budget;
    if (value.is_mapping()) {
        auto object = nlohmann::ordered_json::object();
        for (const auto& [key, element] : value.entries())
            if (const auto name = value.at(key).as_string())
                object[std::string(*name)] = json_from(value.at(element), depth + 1, budget);
        return object;
    }
    switch (value.kind()) {
    case PickleKind::boolean:
        return *value.as_boolean();
    case PickleKind::integer:
        return *value.as_integer();
    case PickleKind::string:
        return std::string(*value.as_string());
    case PickleKind::list:
    case PickleKind::tuple: {
        auto array = nlohmann::ordered_json::array();
        for (const PickleId element : value.elements())
            array.push_back(json_from(value.at(element), depth + 1, budget));
        return array;
    }
    default:
        break;
    }
    const auto number = value.as_number();
    return number ? nlohmann::ordered_json(*number) : nlohmann::ordered_json();
}

} // namespace

PickleId pickle_from_json(PickleDocument& document, const nlohmann::ordered_json& json) {
    using Type = nlohmann::ordered_json::value_t;
    switch (json.type()) {
    case Type::boolean:
        return document.boolean(json.get<bool>());
    case Type::number_integer:
        return document.integer(json.get<std::int64_t>());
    case Type::number_unsigned: {
        const auto value = json.get<std::uint64_t>();
        if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
            return document.integer(static_cast<std::int64_t>(value));
        std::string bytes;
        for (int shift = 0; shift < 64; shift += 8)
            bytes.push_back(static_cast<char>((value >> shift) & 0xffU));
        bytes.push_back('\0');
        return document.big_integer(bytes);
    }
    case Type::number_float:
        return document.real(json.get<double>());
    case Type::string:
        return document.string(json.get<std::string>());
    case Type::array: {
        std::vector<PickleId> elements;
        for (const auto& element : json)
            elements.push_back(pickle_from_json(document, element));
        return document.list(std::move(elements));
    }
    case Type::object: {
        const PickleId dict = document.dict();
        for (const auto& [key, element] : json.items())
            document.insert(dict, key, pickle_from_json(document, element));
        return dict;
    }
    default:
        return document.none();
    }
}

nlohmann::ordered_json json_from_pickle(PickleValue value) {
    std::size_t budget = max_values;
    return json_from(value, 0, budget);
}

} // namespace rekindle::trainer
