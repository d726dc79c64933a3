#include "conditions/situation.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace rekindle::doctor {

void Situation::add(std::string_view key, std::string_view value, std::string_view source) {
    if (value.empty())
        return;
    Known& known = known_.try_emplace(std::string(key)).first->second;
    if (known.values.empty())
        known.source = source;
    if (std::find(known.values.begin(), known.values.end(), value) == known.values.end())
        known.values.emplace_back(value);
}

void Situation::set(std::string_view key, std::string_view value, std::string_view source) {
    if (const auto found = known_.find(key); found != known_.end())
        known_.erase(found);
    add(key, value, source);
}

void Situation::add_flag(std::string_view key, bool value, std::string_view source) {
    add(key, value ? "true" : "false", source);
}

void Situation::set_number(std::string_view key, double value, std::string_view source) {
    if (std::isfinite(value))
        set(key, fmt::format("{:.4f}", value), source);
}

const Situation::Known* Situation::find(std::string_view key) const {
    const auto found = known_.find(key);
    return found == known_.end() ? nullptr : &found->second;
}

bool Situation::has(std::string_view key, std::string_view value) const {
    const Known* known = find(key);
    return known != nullptr &&
           std::find(known->values.begin(), known->values.end(), value) != known->values.end();
}

std::string_view Situation::first(std::string_view key) const {
    const Known* known = find(key);
    return known == nullptr ? std::string_view() : std::string_view(known->values.front());
}

std::optional<double> Situation::number(std::string_view key) const {
    const std::string_view text = first(key);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end != text.data() ? std::optional(value) : std::nullopt;
}

std::string_view Situation::source(std::string_view key) const {
    const Known* known = find(key);
    return known == nullptr ? std::string_view() : std::string_view(known->source);
}

} // namespace rekindle::doctor
