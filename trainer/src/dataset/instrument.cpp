#include "median.h"

#include <rekindle/base/text.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/contract_identity.h>
#include <rekindle/trainer/instrument.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <set>
#include <sstream>
#include <utility>

namespace rekindle::trainer {

namespace {

constexpr std::size_t kept_closes = 250;
/// With fewer common sessions, a correlation means nothing.
constexpr std::size_t min_common_sessions = 20;
/// Returns of the same instrument agree up to the rounding of its quotes, for every data vendor. Futures on
/// the S&P 500 and the Nasdaq 100, about as similar as two instruments get, correlate at about 0.92.
constexpr double same_instrument = 0.97;
constexpr double same_price = 0.02; ///< relative
constexpr double usual_distance = 2;

/// Result of comparing names. `perhaps`: names do not settle it, because contract names differ only in a
/// number ("US500" and "US30", "ES1!" and "ES2!") or a file name says nothing ("2024.csv").
enum class SameName { no, perhaps, yes };

SameName compare_names(const std::string& a, const std::string& b) {
    const market::ContractIdentity one = market::identify_contract(a), other = market::identify_contract(b);
    if (one.instrument + one.number == other.instrument + other.number)
        return SameName::yes;
    return one.instrument == other.instrument ? SameName::perhaps : SameName::no;
}

std::set<std::string> words_of_file(const std::string& file) {
    std::istringstream words(market::instrument_words(file));
    return {std::istream_iterator<std::string>(words), {}};
}

/// "spy" and "spy arca" name one instrument, "binance btcusdt" and "binance ethusdt" two.
SameName compare_files(const std::string& a, const std::string& b) {
    const auto one = words_of_file(a), other = words_of_file(b);
    if (one.empty() || other.empty())
        return SameName::perhaps;
    return std::ranges::includes(one, other) || std::ranges::includes(other, one) ? SameName::yes
                                                                                  : SameName::no;
}

/// Returns the best match between any two contract names, or between file names if neither side names
/// contracts.
SameName compare_names(const Instrument& a, const Instrument& b) {
    if (a.names.empty() != b.names.empty())
        return SameName::perhaps;
    const bool named = !a.names.empty();
    SameName best = SameName::no;
    for (const std::string& one : named ? a.names : a.files)
        for (const std::string& other : named ? b.names : b.files)
            best = std::max(best, named ? compare_names(one, other) : compare_files(one, other));
    return best;
}

/// Whether a contract's name says anything about the instrument.
bool is_name(const std::string& contract) {
    const std::string instrument = market::identify_contract(contract).instrument;
    return !instrument.empty() && instrument != "UNKNOWN" && instrument != "NONE";
}

using Pair = std::pair<double, double>;

std::vector<Pair> common_closes(const Instrument& a, const Instrument& b) {
    std::vector<Pair> pairs;
    auto other = b.closes.begin();
    for (const Instrument::Close& close : a.closes) {
        while (other != b.closes.end() && other->date < close.date)
            ++other;
        if (other != b.closes.end() && other->date == close.date && close.points > 0 && other->points > 0)
            pairs.emplace_back(close.points, other->points);
    }
    return pairs;
}

/// Of the log returns from pair to pair. 1 when neither moves.
double correlation(const std::vector<Pair>& pairs) {
    double a = 0, b = 0, ab = 0, aa = 0, bb = 0;
    const auto count = static_cast<double>(pairs.size() - 1);
    for (std::size_t i = 1; i < pairs.size(); ++i) {
        const double x = std::log(pairs[i].first / pairs[i - 1].first);
        const double y = std::log(pairs[i].second / pairs[i - 1].second);
        a += x;
        b += y;
        ab += x * y;
        aa += x * x;
        bb += y * y;
    }
    const double scatter_a = aa - a * a / count, scatter_b = bb - b * b / count;
    if (scatter_a <= 0 || scatter_b <= 0)
        return scatter_a <= 0 && scatter_b <= 0 ? 1 : 0;
    return (ab - a * b / count) / std::sqrt(scatter_a * scatter_b);
}

} // namespace

std::string instrument_title(const Instrument& instrument) {
    constexpr std::size_t listed = 3;
    std::vector<std::string> names;
    for (const std::string& name : instrument.names) {
        market::ContractIdentity identity = market::identify_contract(name);
        names.push_back(identity.has_month ? std::move(identity.instrument) : name);
    }
    const std::size_t count = instrument.files.size();
    const std::string files =
        count > listed ? fmt::format("{} and {}", instrument.files.front(), counted(count - 1, "more file"))
                       : fmt::format("{}", fmt::join(instrument.files, ", "));
    return names.empty() ? files : fmt::format("{} ({})", fmt::join(names, ", "), files);
}

std::string instrument_name(const Instrument& instrument) {
    if (instrument.names.empty())
        return std::filesystem::path(instrument.files.front()).stem().string();
    std::string text;
    for (const std::string& name : instrument.names) {
        const market::ContractIdentity identity = market::identify_contract(name);
        text += (text.empty() ? "" : "+") + (identity.has_month ? identity.instrument : name);
    }
    return text;
}

Instrument instrument_of(const MarketData& data) {
    Instrument instrument;
    const auto& contracts = data.read.bars.metadata().contracts;
    for (const market::SessionSummary& session : data.summaries) {
        if (session.contract >= contracts.size())
            continue;
        const std::string& name = contracts[session.contract];
        const auto is_same = [&](const std::string& other) {
            return compare_names(name, other) == SameName::yes;
        };
        if (is_name(name) && std::ranges::none_of(instrument.names, is_same))
            instrument.names.push_back(name);
    }
    for (const auto& file : data.read.report.files)
        instrument.files.push_back(file.filename().string());
    const auto points = [&](const market::SessionSummary& session) {
        return data.read.report.tick.to_points(static_cast<double>(session.close));
    };
    instrument.lowest = instrument.highest = points(data.summaries.front());
    for (const market::SessionSummary& session : data.summaries) {
        instrument.lowest = std::min(instrument.lowest, points(session));
        instrument.highest = std::max(instrument.highest, points(session));
    }
    const std::size_t count = data.summaries.size();
    for (std::size_t i = count - std::min(count, kept_closes); i < count; ++i)
        instrument.closes.push_back({data.summaries[i].date, points(data.summaries[i])});
    return instrument;
}

InstrumentMatch compare_instruments(const Instrument& model, const Instrument& data) {
    InstrumentMatch match;
    const std::string both = fmt::format("the model was trained on {}, the data is {}",
                                         instrument_title(model), instrument_title(data));
    const bool named = !model.names.empty() && !data.names.empty();
    const SameName same_name = compare_names(model, data);
    if (named && same_name == SameName::no) {
        match.contradiction = both;
        return match;
    }
    if (const auto pairs = common_closes(model, data); pairs.size() >= min_common_sessions) {
        if (const double similarity = correlation(pairs); similarity < same_instrument) {
            match.contradiction = fmt::format(
                "{}; the closes of the {} sessions in common move differently (correlation {:.2f})", both,
                pairs.size(), similarity);
            return match;
        }
        std::vector<double> ratios;
        ratios.reserve(pairs.size());
        for (const auto& [own, other] : pairs)
            ratios.push_back(other / own);
        if (const double ratio = median(std::move(ratios)); std::abs(ratio - 1) > same_price)
            match.doubt = fmt::format("{}; the closes of the {} sessions in common are {:.4g} times those in "
                                      "training (adjusted prices?), and features hold prices in points",
                                      both, pairs.size(), ratio);
        return match;
    }
    if (same_name == SameName::no) {
        match.contradiction =
            fmt::format("{}; they have too few sessions in common to show whether these are "
                        "two names of one instrument",
                        both);
        return match;
    }
    const double latest = data.closes.empty() ? data.highest : data.closes.back().points;
    if (latest > usual_distance * model.highest || latest * usual_distance < model.lowest)
        match.doubt = fmt::format("{}; its closes were {:g} to {:g} points, the latest here is {:g}", both,
                                  model.lowest, model.highest, latest);
    else if (named && same_name == SameName::perhaps)
        match.doubt = fmt::format("{}; the names differ in a number, and the data does not show whether that "
                                  "is the same instrument",
                                  both);
    else if (!named && same_name == SameName::perhaps && model.files != data.files)
        match.doubt = fmt::format("{}; the data does not show whether that is the same instrument", both);
    return match;
}

void to_json(nlohmann::ordered_json& json, const Instrument& instrument) {
    json = {{"names", instrument.names},
            {"files", instrument.files},
            {"closes_from_points", instrument.lowest},
            {"closes_to_points", instrument.highest}};
    auto& closes = json["closes"] = nlohmann::ordered_json::object();
    for (const Instrument::Close& close : instrument.closes)
        closes[market::format_date(close.date)] = close.points;
}

void from_json(const nlohmann::ordered_json& json, Instrument& instrument) {
    instrument = {};
    instrument.names = json.at("names").get<std::vector<std::string>>();
    instrument.files = json.at("files").get<std::vector<std::string>>();
    instrument.lowest = json.at("closes_from_points");
    instrument.highest = json.at("closes_to_points");
    for (const auto& [date, points] : json.at("closes").items()) {
        Instrument::Close close{0, points.get<double>()};
        if (market::parse_date(date, close.date))
            instrument.closes.push_back(close);
    }
}

} // namespace rekindle::trainer
