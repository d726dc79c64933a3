#pragma once
/// The instrument that a model was trained on, so that data of another instrument is noticed.

#include <rekindle/trainer/market_data.h>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace rekindle::trainer {

struct Instrument {
    /// One contract of each instrument, as the data names it: "ES 03-25"; empty when the data names none.
    std::vector<std::string> names;
    std::vector<std::string> files; ///< names without folders
    double lowest = 0, highest = 0; ///< closes of all sessions, points
    struct Close {
        std::int32_t date = 0;
        double points = 0;
    };
    std::vector<Close> closes; ///< of the latest sessions
};

/// Precondition: at least one session.
Instrument instrument_of(const MarketData& data);
/// "ES (bars.csv)", or the files alone: "bars.csv". Of more than three files, the first and their number.
std::string instrument_title(const Instrument& instrument);
/// The shortest name: "ES", or the first file without its extension.
std::string instrument_name(const Instrument& instrument);

/// How a model's instrument and that of new data compare.
struct InstrumentMatch {
    std::string contradiction; ///< one sentence with both names, why they cannot be the same; empty: none
    std::string doubt;         ///< one sentence about what does not match or is unknown; empty: none
};
InstrumentMatch compare_instruments(const Instrument& model, const Instrument& data);

void to_json(nlohmann::ordered_json& json, const Instrument& instrument);
void from_json(const nlohmann::ordered_json& json, Instrument& instrument);

} // namespace rekindle::trainer
