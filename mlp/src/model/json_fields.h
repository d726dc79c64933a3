#pragma once
/// Reads JSON objects whose keys are all known; errors name the unknown key, wrong type or wrong word.

#include <rekindle/foundation/error.h>

#include <nlohmann/json.hpp>

#include <array>
#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rekindle::mlp {

/// The words of an enumeration, in its order.
template <class E, std::size_t N>
struct Words {
    std::array<std::string_view, N> text;

    std::string write(E value) const { return std::string(text.at(static_cast<std::size_t>(value))); }
    E read(const nlohmann::json& value, const std::string& place) const {
        std::string all;
        for (std::size_t i = 0; i < N; ++i) {
            if (value.is_string() && value.get_ref<const std::string&>() == text[i])
                return static_cast<E>(i);
            all += (i ? ", " : "") + std::string(text[i]);
        }
        throw usage_error("unknown value " + value.dump()).at(place).expected("one of " + all);
    }
};

/// One object and its place in the document, for error messages.
class JsonFields {
  public:
    /// Refers to the object.
    JsonFields(const nlohmann::json& object, std::string place) : object_(object), place_(std::move(place)) {
        if (!object.is_object())
            throw usage_error("not a JSON object").at(place_).expected("an object");
    }
    JsonFields(nlohmann::json&& object, std::string place) = delete;
    std::string place(std::string_view key) const {
        return place_.empty() ? std::string(key) : place_ + "." + std::string(key);
    }
    /// Throws Error naming a key that is not in the list.
    void only(std::initializer_list<std::string_view> known) const {
        for (const auto& [key, value] : object_.items()) {
            bool found = false;
            for (const std::string_view name : known)
                found = found || name == key;
            if (!found)
                throw usage_error("unknown key").at(place(key));
        }
    }
    /// Leaves the value unchanged if the key is absent.
    template <class T>
    void optional(std::string_view key, T& value) const {
        if (const auto found = object_.find(key); found != object_.end())
            value = read<T>(*found, key);
    }
    template <class T>
    void required(std::string_view key, T& value) const {
        value = read<T>(get(key), key);
    }
    /// The same for an enumeration.
    template <class E, std::size_t N>
    void optional(std::string_view key, const Words<E, N>& words, E& value) const {
        if (has(key))
            required(key, words, value);
    }
    template <class E, std::size_t N>
    void required(std::string_view key, const Words<E, N>& words, E& value) const {
        value = words.read(get(key), place(key));
    }
    const nlohmann::json& get(std::string_view key) const {
        const auto found = object_.find(key);
        if (found == object_.end())
            throw usage_error("missing key").at(place(key));
        return *found;
    }
    bool has(std::string_view key) const { return object_.contains(key); }

  private:
    template <class T>
    T read(const nlohmann::json& value, std::string_view key) const {
        if constexpr (std::same_as<T, bool>) {
            if (value.is_boolean())
                return value.get<bool>();
            throw usage_error("wrong type").at(place(key)).expected("true or false");
        } else if constexpr (std::integral<T>) {
            // nlohmann stores a number as unsigned when parsed and as signed when made from an int.
            if (value.is_number_unsigned() && std::in_range<T>(value.get<std::uint64_t>()))
                return static_cast<T>(value.get<std::uint64_t>());
            if (value.is_number_integer() && !value.is_number_unsigned() && value.get<std::int64_t>() >= 0 &&
                std::in_range<T>(value.get<std::int64_t>()))
                return static_cast<T>(value.get<std::int64_t>());
            throw usage_error("wrong value " + value.dump())
                .at(place(key))
                .expected("an integer of at least 0");
        } else if constexpr (std::floating_point<T>) {
            if (value.is_number())
                return value.get<T>();
            throw usage_error("wrong type").at(place(key)).expected("a number");
        } else if constexpr (std::same_as<T, std::vector<double>>) {
            T numbers;
            for (const nlohmann::json& number : value) {
                if (!number.is_number())
                    throw usage_error("wrong type").at(place(key)).expected("a list of numbers");
                numbers.push_back(number.get<double>());
            }
            return numbers;
        } else {
            if (value.is_string())
                return value.get<std::string>();
            throw usage_error("wrong type").at(place(key)).expected("a string");
        }
    }
    const nlohmann::json& object_;
    std::string place_;
};

} // namespace rekindle::mlp
