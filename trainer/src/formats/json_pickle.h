#pragma once
/// Converts plain values between JSON and pickles.

#include <rekindle/trainer/pickle.h>

#include <nlohmann/json.hpp>

namespace rekindle::trainer {

PickleId pickle_from_json(PickleDocument& document, const nlohmann::ordered_json& json);
/// Mappings with text keys, lists, tuples, numbers, text, booleans and None; anything else, and what is
/// nested more than 32 deep, becomes null.
nlohmann::ordered_json json_from_pickle(PickleValue value);

} // namespace rekindle::trainer
