#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/contract_identity.h>
#include <rekindle/market/embedded.h>
#include <rekindle/market/instruments.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <set>
#include <utility>

namespace rekindle::market {
namespace {

constexpr std::string_view instruments_format = "rekindle-instruments/1";

Error instrument_error(const std::string& where, const YAML::Mark& mark, std::string what) {
    return usage_error(std::move(what)).at(fmt::format("{}:{}", where, mark.line + 1));
}

std::string upper_case(std::string_view text) {
    std::string upper(text);
    std::ranges::transform(upper, upper.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return upper;
}

/// "EURUSD" for "eur/usd" and "EURUSD=X".
std::string plain_name(std::string_view name) {
    std::string plain = upper_case(name);
    if (plain.ends_with("=X"))
        plain.resize(plain.size() - 2);
    std::erase_if(plain, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); });
    return plain;
}

/// Reads the keys of one instrument. Throws Error (usage) with file and line.
class InstrumentReader {
  public:
    InstrumentReader(const YAML::Node& node, const std::string& where) : node_(node), where_(where) {}

    std::string text(const char* key) const {
        const YAML::Node value = node_[key];
        if (!value)
            return {};
        if (!value.IsScalar())
            throw error(key, "a text");
        return value.Scalar();
    }
    double number(const char* key, double otherwise) const {
        if (!node_[key])
            return otherwise;
        double value = 0;
        try {
            value = node_[key].as<double>();
        } catch (const YAML::Exception&) {
            throw error(key, "a number above zero");
        }
        if (!(value > 0) || !std::isfinite(value))
            throw error(key, "a number above zero");
        return value;
    }
    bool flag(const char* key) const {
        const std::string value = text(key);
        if (!value.empty() && value != "true" && value != "false")
            throw error(key, "true or false");
        return value == "true";
    }
    int minute(const char* key) const {
        const auto value = parse_minute(text(key));
        if (!value || *value == 24 * 60)
            throw error(key, "HH:MM in quotes, such as \"17:00\"");
        return *value;
    }
    std::optional<Instrument::Hours> hours(const char* key) const {
        if (!node_[key])
            return std::nullopt;
        const std::string value = text(key);
        const std::size_t hyphen = std::min(value.find('-'), value.size());
        const auto open = parse_minute(std::string_view(value).substr(0, hyphen));
        const auto close = parse_minute(std::string_view(value).substr(std::min(hyphen + 1, value.size())));
        if (!open || !close)
            throw error(key, "two times, such as \"08:30-15:00\"");
        return Instrument::Hours{*open, *close};
    }
    std::vector<std::string> texts(const char* key) const {
        std::vector<std::string> result;
        if (!node_[key])
            return result;
        if (!node_[key].IsSequence())
            throw error(key, "a list of names, such as [EURUSD, GBPUSD]");
        for (const auto& entry : node_[key]) {
            if (!entry.IsScalar() || plain_name(entry.Scalar()).empty())
                throw error(key, "a list of names, such as [EURUSD, GBPUSD]");
            result.push_back(upper_case(entry.Scalar()));
        }
        return result;
    }
    void require_known_keys() const {
        static const std::set<std::string> known{
            "name",      "tick",     "point_value", "currency",        "zone",     "halt", "regular_hours",
            "day_start", "weekends", "source",      "negative_prices", "holidays", "names"};
        for (const auto& entry : node_)
            if (!known.contains(entry.first.Scalar()))
                throw instrument_error(where_, entry.first.Mark(),
                                       "\"" + entry.first.Scalar() + "\" is not a known key")
                    .expected(fmt::format("{}", fmt::join(known, ", ")));
    }

  private:
    Error error(const char* key, const char* expected) const {
        return instrument_error(where_, node_[key] ? node_[key].Mark() : node_.Mark(),
                                fmt::format("{} is missing or wrong", key))
            .expected(expected);
    }

    const YAML::Node& node_;
    const std::string& where_;
};

/// Whether a name matches the pattern, in which an asterisk at the beginning or end stands for two or more
/// characters.
bool matches(std::string_view name, std::string_view pattern) {
    constexpr std::size_t fewest = 2;
    if (pattern.starts_with('*'))
        return name.ends_with(pattern.substr(1)) && name.size() >= pattern.size() - 1 + fewest;
    if (pattern.ends_with('*'))
        return name.starts_with(pattern.substr(0, pattern.size() - 1)) &&
               name.size() >= pattern.size() - 1 + fewest;
    return name == pattern;
}

Instrument read_instrument(const std::string& symbol, const YAML::Node& node, const std::string& where) {
    if (!node.IsMap())
        throw instrument_error(where, node.Mark(), symbol + " is not a map");
    const InstrumentReader reader(node, where);
    reader.require_known_keys();
    Instrument instrument;
    instrument.symbol = symbol;
    instrument.name = reader.text("name");
    instrument.tick = reader.number("tick", 0);
    instrument.point_value = reader.number("point_value", 1);
    instrument.currency = reader.text("currency");
    instrument.zone = reader.text("zone");
    instrument.day_start = reader.minute("day_start");
    instrument.regular = reader.hours("regular_hours");
    if (instrument.regular && instrument.regular->open >= instrument.regular->close)
        throw instrument_error(where, node.Mark(), symbol + " closes before it opens");
    if (const auto halt = reader.hours("halt"))
        instrument.halt = DailyHalt{halt->open, halt->close};
    instrument.weekends = reader.flag("weekends");
    instrument.negative_prices = reader.flag("negative_prices");
    instrument.names = reader.texts("names");
    if (node["holidays"])
        instrument.holidays = reader.text("holidays");
    if (!HolidayCalendar::named(instrument.holidays))
        throw instrument_error(where, node["holidays"].Mark(),
                               "\"" + instrument.holidays + "\" is not a built-in calendar")
            .expected("us-cash-equities, eurex or none");
    instrument.source = reader.text("source");
    if (instrument.name.empty() || instrument.source.empty())
        throw instrument_error(where, node.Mark(), symbol + " has no name or no source");
    try {
        ZoneClock::load(instrument.zone);
    } catch (const Error& error) {
        throw instrument_error(where, node.Mark(), error.message()).expected(error.expectation());
    }
    return instrument;
}

bool is_continuous(std::string_view name) {
    return name.ends_with('!') || name.ends_with('#') || name.starts_with('@') || name.ends_with("=F");
}

/// The continuous contract that a file is named after: "ES=F" for "ES=F.csv", "ES1!" for TradingView's
/// "CME_MINI_ES1!, 60.csv"; "" if there is none.
std::string continuous_contract(const std::filesystem::path& file) {
    std::filesystem::path plain = file.filename();
    for (const char* packed : {".gz", ".zst", ".zip"})
        if (plain.extension() == packed)
            plain = plain.stem();
    std::string name = plain.stem().string();
    name.resize(std::min(name.size(), name.find(',')));
    if (const std::size_t exchange = name.rfind('_'); exchange != std::string::npos)
        name.erase(0, exchange + 1);
    return is_continuous(name) ? name : "";
}

} // namespace

SessionRules Instrument::session_rules() const {
    SessionRules rules;
    rules.daily_bars_are_trading_days = symbol != "US-STOCK";
    rules.zone = zone;
    rules.day_start = day_start;
    rules.days = weekends ? TradingDays::all : TradingDays::automatic;
    rules.halt = halt;
    rules.rth_known = regular.has_value();
    if (regular) {
        rules.rth_open = regular->open;
        rules.rth_close = regular->close;
    }
    return rules;
}

HolidayCalendar Instrument::calendar() const {
    return HolidayCalendar::named(holidays).value();
}

bool may_trade_past_the_close(std::string_view name) {
    static constexpr std::array<std::string_view, 12> currencies{"USD", "EUR", "JPY", "GBP", "CHF", "AUD",
                                                                 "CAD", "NZD", "SEK", "NOK", "XAU", "XAG"};
    const ContractIdentity identity = identify_contract(name);
    std::string pair = identity.instrument;
    std::erase_if(pair, [](char c) { return c == '/' || c == '_' || c == '-' || c == '.' || c == '='; });
    const auto is_currency = [](std::string_view code) { return std::ranges::count(currencies, code) > 0; };
    if (pair.size() >= 6 && is_currency(std::string_view(pair).substr(0, 3)) &&
        is_currency(std::string_view(pair).substr(3, 3)))
        return true;
    return identity.has_month || is_continuous(name) ||
           InstrumentTable::embedded().find(identity.instrument) != nullptr;
}

InstrumentTable InstrumentTable::parse(std::string_view yaml, const std::string& where) {
    YAML::Node root;
    try {
        root = YAML::Load(std::string(yaml));
    } catch (const YAML::Exception& exception) {
        throw instrument_error(where, exception.mark, "not YAML: " + exception.msg);
    }
    InstrumentTable table;
    if (!root.IsMap() || !root["format"] || !root["format"].IsScalar() ||
        root["format"].Scalar() != instruments_format || !root["instruments"] || !root["instruments"].IsMap())
        throw usage_error("not a list of instruments")
            .at(where)
            .expected(fmt::format("format: {}, checked, and instruments", instruments_format));
    if (!root["checked"] || !root["checked"].IsScalar() ||
        !parse_date(root["checked"].Scalar(), table.checked_))
        throw usage_error("the list has no date").at(where).expected("checked: YYYY-MM-DD");
    for (const auto& entry : root["instruments"]) {
        const std::string symbol = entry.first.IsScalar() ? entry.first.Scalar() : "";
        if (symbol.empty() || table.find(symbol))
            throw instrument_error(where, entry.first.Mark(), "\"" + symbol + "\" is empty or appears twice");
        table.instruments_.push_back(read_instrument(symbol, entry.second, where));
    }
    return table;
}

InstrumentTable InstrumentTable::load(const std::filesystem::path& path) {
    return parse(read_file(path), path.string());
}

const InstrumentTable& InstrumentTable::embedded() {
    static const InstrumentTable table =
        parse(embedded_file("instruments.yaml"), "embedded instruments.yaml");
    return table;
}

const Instrument* InstrumentTable::find(std::string_view symbol) const {
    const auto found = std::ranges::find_if(instruments_, [&](const Instrument& instrument) {
        return lower_case(instrument.symbol) == lower_case(symbol);
    });
    return found == instruments_.end() ? nullptr : &*found;
}

const Instrument& InstrumentTable::get(std::string_view symbol) const {
    if (const Instrument* found = find(symbol))
        return *found;
    std::vector<std::string> symbols;
    for (const Instrument& instrument : instruments_)
        symbols.push_back(instrument.symbol);
    throw usage_error(fmt::format("the instrument {} is not in the list", symbol))
        .expected(fmt::format("one of {}", fmt::join(symbols, ", ")))
        .hint("Give its --zone, --day-start and --regular-hours instead, or a list of your own with "
              "--instruments FILE.");
}

const Instrument* InstrumentTable::of_contracts(const std::vector<std::string>& contracts) const {
    const Instrument* common = nullptr;
    for (const std::string& contract : contracts) {
        std::string name = contract;
        if (name.ends_with("=F"))
            name.resize(name.size() - 2);
        const ContractIdentity identity = identify_contract(name);
        const Instrument* one =
            identity.has_month || is_continuous(contract) ? find(identity.instrument) : nullptr;
        if (!one)
            one = named(contract);
        if (!one || (common && common != one))
            return nullptr;
        common = one;
    }
    return common;
}

const Instrument* InstrumentTable::of_files(const std::vector<std::filesystem::path>& files) const {
    const Instrument* common = nullptr;
    for (const std::filesystem::path& file : files) {
        const std::string text = instrument_words(file);
        const std::vector<std::string_view> words = split(text, ' ');
        const std::string contract = continuous_contract(file);
        const Instrument* one = contract.empty() ? nullptr : of_contracts({contract});
        if (!one)
            one = named(text);
        for (std::size_t i = 0; !one && i < words.size(); ++i) {
            one = named(words[i]);
            if (!one && i + 1 < words.size())
                one = named(std::string(words[i]) + std::string(words[i + 1])); // "eur usd"
        }
        if (!one || (common && common != one))
            return nullptr;
        common = one;
    }
    return common;
}

const Instrument* InstrumentTable::named(std::string_view name) const {
    const std::string plain = plain_name(name);
    const auto found = std::ranges::find_if(instruments_, [&](const Instrument& instrument) {
        return std::ranges::any_of(instrument.names,
                                   [&](const std::string& pattern) { return matches(plain, pattern); });
    });
    return plain.empty() || found == instruments_.end() ? nullptr : &*found;
}

} // namespace rekindle::market
