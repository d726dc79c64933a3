#include "visit.h"

#include <rekindle/doctor/facts_json.h>
#include <rekindle/foundation/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <concepts>
#include <limits>

namespace rekindle::doctor {

namespace {

using Json = nlohmann::ordered_json;

template <class T>
concept Fields = requires(T& value) { visit_fields(value, [](const char*, auto&) {}); };

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

template <class T>
struct IsFact : std::false_type {};
template <class T>
struct IsFact<Fact<T>> : std::true_type {};

template <class T>
Json write(const T& value);

template <Fields T>
Json write_fields(const T& value) {
    Json object = Json::object();
    visit_fields(value, [&](const char* name, const auto& field) {
        Json written = write(field);
        const bool empty = written.is_null() || (written.is_structured() && written.empty()) ||
                           (written.is_string() && written.template get_ref<const std::string&>().empty());
        if (!empty)
            object[name] = std::move(written);
    });
    return object;
}

template <class T>
Json write_fact(const Fact<T>& fact) {
    if (!fact.known() && fact.unread.empty())
        return nullptr;
    Json object = Json::object();
    if (fact.known())
        object["value"] = write(*fact);
    if (!fact.unread.empty())
        object["unread"] = fact.unread;
    if (!fact.source.empty())
        object["source"] = fact.source;
    return object;
}

template <class T>
Json write(const T& value) {
    if constexpr (IsFact<T>::value) {
        return write_fact(value);
    } else if constexpr (IsVector<T>::value) {
        Json list = Json::array();
        for (const auto& part : value)
            list.push_back(write(part));
        return list;
    } else if constexpr (Fields<const T>) {
        return write_fields(value);
    } else {
        return Json(value);
    }
}

/// Keeps the path of the current field, so that a mistake can be located.
class FactsReader {
  public:
    explicit FactsReader(std::string path) : path_(std::move(path)) {}

    template <class T>
    void read(const Json& json, T& value) const {
        if constexpr (IsFact<T>::value)
            read_fact(json, value);
        else if constexpr (IsVector<T>::value)
            read_list(json, value);
        else if constexpr (Fields<T>)
            read_fields(json, value);
        else
            read_plain(json, value);
    }

  private:
    FactsReader inside(std::string_view name) const { return FactsReader(fmt::format("{}.{}", path_, name)); }

    [[noreturn]] void fail(std::string what, std::string_view expected) const {
        throw usage_error(std::move(what)).at(path_).expected(std::string(expected));
    }

    template <class T>
    void read_fact(const Json& json, Fact<T>& fact) const {
        if (!json.is_object() || !(json.contains("value") || json.contains("unread"))) {
            fact.value.emplace();
            read(json, *fact.value);
            return;
        }
        for (const auto& [key, part] : json.items()) {
            if (key == "value") {
                fact.value.emplace();
                inside(key).read(part, *fact.value);
            } else if (key == "unread") {
                inside(key).read(part, fact.unread);
            } else if (key == "source") {
                inside(key).read(part, fact.source);
            } else {
                fail(fmt::format("unknown key \"{}\"", key), "value, unread, source");
            }
        }
    }

    template <class T>
    void read_list(const Json& json, std::vector<T>& list) const {
        if (!json.is_array())
            fail("not a list", "a JSON array");
        list.clear();
        for (std::size_t i = 0; i < json.size(); ++i)
            FactsReader(fmt::format("{}[{}]", path_, i)).read(json[i], list.emplace_back());
    }

    template <Fields T>
    void read_fields(const Json& json, T& value) const {
        if (!json.is_object())
            fail("not an object", "a JSON object");
        std::size_t used = 0;
        visit_fields(value, [&](const char* name, auto& field) {
            if (const auto found = json.find(name); found != json.end()) {
                inside(name).read(*found, field);
                ++used;
            }
        });
        if (used != json.size())
            name_unknown(json, value);
    }

    template <Fields T>
    void name_unknown(const Json& json, T& value) const {
        for (const auto& [key, part] : json.items()) {
            bool known = false;
            visit_fields(value, [&](const char* name, auto&) { known = known || key == name; });
            if (!known)
                fail(fmt::format("unknown field \"{}\"", key), "a field of docs/formats/doctor.md");
        }
    }

    void read_plain(const Json& json, std::string& value) const {
        if (!json.is_string())
            fail("not text", "a JSON string");
        value = json.get<std::string>();
    }
    void read_plain(const Json& json, bool& value) const {
        if (!json.is_boolean())
            fail("not true or false", "true or false");
        value = json.get<bool>();
    }
    void read_plain(const Json& json, double& value) const {
        if (!json.is_number())
            fail("not a number", "a number");
        value = json.get<double>();
    }
    template <std::integral T>
    void read_plain(const Json& json, T& value) const {
        const bool fits = json.is_number_unsigned()
                              ? std::in_range<T>(json.get<std::uint64_t>())
                              : json.is_number_integer() && std::in_range<T>(json.get<std::int64_t>());
        if (!fits)
            fail("not an integer in range",
                 fmt::format("an integer from {} to {}", std::numeric_limits<T>::min(),
                             std::numeric_limits<T>::max()));
        value = json.get<T>();
    }
    template <class T>
    void read_plain(const Json& json, std::map<std::string, T>& value) const {
        if (!json.is_object())
            fail("not an object", "a JSON object");
        value.clear();
        for (const auto& [key, part] : json.items())
            inside(key).read(part, value[key]);
    }

    std::string path_;
};

} // namespace

Json to_json(const Facts& facts) {
    return write(facts);
}

Facts facts_from_json(const Json& json, std::string_view where) {
    Facts facts;
    if (json.is_object() && json.contains("schema") && json["schema"] != facts_schema)
        throw usage_error(fmt::format("the facts have schema {}", json["schema"].dump()))
            .at(std::string(where))
            .expected(fmt::format("schema {}", facts_schema))
            .hint("Another version of Rekindle wrote this file; read it with that version.");
    FactsReader(std::string(where)).read(json, facts);
    return facts;
}

} // namespace rekindle::doctor
