#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/instruments.h>
#include <rekindle/market/trading_halt.h>
#include <rekindle/market/usual_hours.h>
#include <rekindle/trainer/market_data.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace rekindle::trainer {

namespace {

constexpr std::string_view inferred = "auto";
constexpr std::string_view no_instrument = "none";
constexpr std::string_view of_each = "each";

/// Whether several instruments have hours of their own.
bool is_list(const std::string& instrument) {
    return instrument.find('=') != std::string::npos;
}

market::InstrumentTable table_of(const TrainConfig& config) {
    return config.instruments.empty() ? market::InstrumentTable::embedded()
                                      : market::InstrumentTable::load(config.instruments);
}

std::string range_text(int open, int close) {
    return market::format_minute(open) + "-" + market::format_minute(close);
}

/// The instrument's hours in the local time of another zone; nothing if they would cross midnight there, or
/// if the time difference changes over the year.
std::optional<market::SessionRules> rules_in(const market::Instrument& instrument, const std::string& zone) {
    constexpr int noon = 12 * 60, day = 24 * 60;
    market::SessionRules rules = instrument.session_rules();
    const auto ahead = market::constant_difference(zone, rules.zone);
    if (!ahead)
        return std::nullopt;
    const bool on_evening_before = rules.day_start >= noon;
    rules.zone = zone;
    rules.day_start += *ahead;
    rules.rth_open += *ahead;
    rules.rth_close += *ahead;
    const bool within_day = rules.day_start >= 0 && rules.day_start < day && rules.rth_open >= 0 &&
                            rules.rth_close <= day && (rules.day_start >= noon) == on_evening_before;
    return within_day ? std::optional(rules) : std::nullopt;
}

/// Sets the keys that are not in `given` to the values of the rules.
void set_hours(const market::Instrument& instrument, const market::SessionRules& rules, TrainConfig& config,
               std::set<std::string>& given) {
    const auto set = [&](const char* key, auto& value, auto own_value) {
        if (given.insert(key).second)
            value = std::move(own_value);
    };
    set("zone", config.zone, rules.zone);
    if (!given.contains("days")) // not added, because a model keeps its own days
        config.days = rules.days;
    set("day_start", config.day_start, market::format_minute(rules.day_start));
    if (instrument.regular)
        set("regular_hours", config.regular_hours, range_text(rules.rth_open, rules.rth_close));
}

/// Whether the configuration would have the same day and regular hours without the instrument.
bool same_hours(const market::Instrument& instrument, const market::SessionRules& rules,
                const TrainConfig& config) {
    market::SessionRules usual = market::usual_session_rules(config.zone);
    if (!instrument.regular)
        usual.rth_known = rules.rth_known;
    return market::same_hours(rules, usual);
}

std::string hours_words(const market::Instrument& instrument, const market::SessionRules& rules) {
    market::SessionRules own = rules;
    own.rth_known = instrument.regular.has_value();
    own.days = instrument.weekends ? market::TradingDays::all : market::TradingDays::weekdays;
    return hours_text(own);
}

/// The instrument that the contract names imply or, if no contract has a name, the file names.
const market::Instrument* find_instrument(const TrainConfig& config, const market::InstrumentTable& table) {
    const market::ReadOptions options = read_options(config, {});
    const std::vector<std::string> contracts = market::first_contracts(options);
    if (std::ranges::all_of(contracts, [](const std::string& name) { return name.empty(); }))
        return table.of_files(options.paths);
    return table.of_contracts(contracts);
}

} // namespace

bool has_instrument(const TrainConfig& config) {
    return !config.instrument.empty() && lower_case(config.instrument) != inferred &&
           lower_case(config.instrument) != no_instrument && lower_case(config.instrument) != of_each &&
           !is_list(config.instrument);
}

std::string hours_text(const market::SessionRules& rules) {
    if (rules.raw_labels)
        return "sessions by the dates of the timestamps";
    return fmt::format("trading days that begin at {}{} ({}){}", market::format_minute(rules.day_start),
                       rules.rth_known ? ", regular hours " + range_text(rules.rth_open, rules.rth_close)
                                       : "",
                       rules.zone, rules.days == market::TradingDays::all ? ", on all seven days" : "");
}

std::optional<std::string> value_for(std::string_view setting, std::string_view name) {
    for (std::string_view rest = setting; !rest.empty();) {
        const std::string_view one = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(rest.size(), one.size() + 1));
        const std::size_t equals = one.find('=');
        if (equals != std::string_view::npos && trim(one.substr(0, equals)) == name)
            return std::string(trim(one.substr(equals + 1)));
    }
    return std::nullopt;
}

TrainConfig config_of_instrument(const TrainConfig& config, const std::string& name,
                                 const std::vector<std::string>& contracts,
                                 const std::vector<std::filesystem::path>& files) {
    if (!is_list(config.instrument) && lower_case(config.instrument) != of_each)
        return config;
    TrainConfig own = config;
    own.instrument = no_instrument;
    const market::InstrumentTable table = table_of(config);
    const market::Instrument* instrument = nullptr;
    if (const auto symbol = value_for(config.instrument, name)) {
        if (lower_case(*symbol) != no_instrument) {
            own.instrument = *symbol;
            instrument_named(own); // throws for an unknown symbol
            instrument = table.find(*symbol);
        }
    } else {
        instrument = contracts.empty() ? table.of_files(files) : table.of_contracts(contracts);
    }
    if (instrument == nullptr || (config.session != market::SessionHours::all && !instrument->regular))
        return own;
    own.instrument = instrument->symbol;
    const auto converted = rules_in(*instrument, config.zone);
    std::set<std::string> keep;
    if (converted && same_hours(*instrument, *converted, config))
        keep = {"zone", "day_start", "regular_hours"};
    set_hours(*instrument, converted.value_or(instrument->session_rules()), own, keep);
    return own;
}

market::Instrument instrument_named(const TrainConfig& config) {
    try {
        return table_of(config).get(config.instrument);
    } catch (Error& error) {
        throw error.at("--instrument");
    }
}

std::string usual_day_start(const TrainConfig& config) {
    if (has_instrument(config))
        if (const auto rules = rules_in(instrument_named(config), config.zone))
            return market::format_minute(rules->day_start);
    return TrainConfig().day_start;
}

void apply_instrument(TrainConfig& config, std::set<std::string>& given) {
    if (!has_instrument(config))
        return;
    const market::Instrument instrument = instrument_named(config);
    const std::string& zone = given.contains("zone") ? config.zone : instrument.zone;
    const auto rules = rules_in(instrument, zone);
    if (!rules)
        throw usage_error(fmt::format("--zone {} is not the zone of {}, {}", config.zone, instrument.symbol,
                                      instrument.zone))
            .at("--instrument")
            .expected("no --zone, or the instrument's")
            .hint(
                "--stamp-zone gives the zone of the timestamps; the instrument gives that of the sessions.");
    set_hours(instrument, *rules, config, given);
}

std::string infer_instrument(TrainConfig& config, const std::set<std::string>& given) {
    const bool several = config.several_instruments != SeveralInstruments::no;
    if (!several && is_list(config.instrument))
        throw usage_error("there is only one instrument")
            .at("--instrument")
            .expected("one symbol, or --several-instruments with it");
    const bool each = lower_case(config.instrument) == of_each;
    if ((lower_case(config.instrument) != inferred && !each) || config.clock == market::Clock::raw ||
        config.compat == Compat::original)
        return "";
    config.instrument = no_instrument;
    if (several) {
        const bool own_hours = std::ranges::any_of(
            std::initializer_list<const char*>{"zone", "day_start", "regular_hours", "days"},
            [&](const char* key) { return given.contains(key); });
        if (own_hours && !each)
            return "The hours of sessions are the given ones for all instruments; --instrument each uses "
                   "those "
                   "of the list of instruments.";
        config.instrument = of_each;
        return "";
    }
    if (std::ranges::any_of(config.data,
                            [](const std::string& path) { return market::is_memory_path(path); }))
        return "";
    const market::InstrumentTable table = table_of(config);
    const market::Instrument* instrument = find_instrument(config, table);
    if (instrument == nullptr)
        return "";
    const std::string name =
        fmt::format("By its name, the data is {} ({})", instrument->symbol, instrument->name);
    const auto converted = rules_in(*instrument, config.zone);
    const market::SessionRules rules = converted.value_or(instrument->session_rules());
    const auto refuse = [&](const std::string& why) {
        return fmt::format("{}, which has {}. They are not used because {}; --instrument {} uses them, and "
                           "--instrument none omits this note.",
                           name, hours_words(*instrument, rules), why, instrument->symbol);
    };
    for (const auto& [key, option] : {std::pair{"zone", "--zone"}, std::pair{"day_start", "--day-start"},
                                      std::pair{"regular_hours", "--regular-hours"}})
        if (!converted && given.contains(key))
            return refuse(std::string(option) + " is given");
    if (config.session != market::SessionHours::all && !instrument->regular)
        return refuse("it has no regular hours");
    config.instrument = instrument->symbol;
    std::set<std::string> keep(given);
    if (converted && same_hours(*instrument, rules, config))
        keep.insert({"zone", "day_start", "regular_hours"});
    set_hours(*instrument, rules, config, keep);
    return fmt::format("{}, so it has {}. --instrument none ignores the name.", name,
                       hours_words(*instrument, rules));
}

std::vector<std::string> instrument_warnings(const TrainConfig& config, const market::ReadResult& read,
                                             const market::SessionRules& rules) {
    std::vector<std::string> warnings;
    if (!has_instrument(config))
        return warnings;
    const market::InstrumentTable table = table_of(config);
    const market::Instrument instrument = instrument_named(config);
    if (const market::Instrument* other = table.of_contracts(read.bars.metadata().contracts);
        other != nullptr && other->symbol != instrument.symbol)
        warnings.push_back(fmt::format("The contracts are those of {} ({}), not of {}.", other->symbol,
                                       other->name, instrument.symbol));
    const double tick = read.report.tick.points;
    if (instrument.tick > 0 && read.report.profile_bin == 0 &&
        std::abs(tick - instrument.tick) > 1e-9 * instrument.tick)
        warnings.push_back(fmt::format("The prices have a tick of {}, but {} has a tick of {}: check that "
                                       "they are prices of this instrument, in points.",
                                       shortest(tick), instrument.symbol, shortest(instrument.tick)));
    if (read.report.closes_below_zero > 0 && !instrument.negative_prices)
        warnings.push_back(fmt::format("{} a close below zero, where {} never traded: the series must be "
                                       "back-adjusted by differences, or "
                                       "the rows are wrong.",
                                       counted(read.report.closes_below_zero, "row has", "rows have"),
                                       instrument.symbol));
    if (std::string halt = market::halt_warning(read.bars, rules); !halt.empty())
        warnings.push_back(std::move(halt));
    return warnings;
}

} // namespace rekindle::trainer
