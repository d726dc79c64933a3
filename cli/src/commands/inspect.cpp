#include "market_input.h"

#include <rekindle/base/text.h>
#include <rekindle/market/inspect.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rekindle::cli {

namespace {

/// One instrument of the files; its name is empty if they hold only one.
struct Inspected {
    std::string name;
    market::InspectReport report;
    std::vector<market::RejectedRow> rejected;
};

class Inspector {
  public:
    Inspector(const EffectiveConfig& effective, ProgressView& view)
        : effective_(effective), view_(view), pool_(static_cast<std::size_t>(effective.config.threads)) {}

    std::vector<Inspected> run() {
        const trainer::TrainConfig config = with_instrument(effective_, view_);
        if (config.several_instruments != trainer::SeveralInstruments::no)
            return inspect_all(instruments_of(config));
        std::optional<Error> problem;
        std::vector<Inspected> found;
        try {
            found.push_back(inspect({"", config, {}, reader_}));
            if (found.front().report.roll_error.empty())
                return found;
        } catch (const Error& error) {
            if (error.status() != ExitStatus::usage)
                throw;
            problem = error;
        }
        const auto several = config.chain ? std::vector<trainer::InstrumentBars>() : unasked_instruments();
        if (several.size() > 1)
            return inspect_all(several);
        if (problem)
            throw *problem;
        return found;
    }

  private:
    std::vector<trainer::InstrumentBars> instruments_of(const trainer::TrainConfig& config) {
        return trainer::find_instruments(config, {}, pool_, cancellation_, reader_);
    }

    /// The instruments of files that cannot be read as those of one, if that is why.
    std::vector<trainer::InstrumentBars> unasked_instruments() {
        trainer::TrainConfig config = effective_.config;
        config.several_instruments = trainer::SeveralInstruments::by_root;
        std::string hours;
        std::vector<trainer::InstrumentBars> instruments;
        try {
            hours = trainer::infer_instrument(config, effective_.given);
            instruments = instruments_of(config);
        } catch (const Error& error) {
            if (error.status() != ExitStatus::usage)
                throw;
        }
        if (instruments.size() < 2)
            return {};
        std::vector<std::string> names;
        for (const trainer::InstrumentBars& instrument : instruments)
            names.push_back(instrument.name);
        view_.info(fmt::format(
            "The names of contracts or files say that these are different instruments: {}. Each is described "
            "on its own. --contract NAME selects one, --several-instruments trains one model on all of them, "
            "and --chain reads files of one history whatever their names are.",
            trainer::list_of_instruments(names)));
        if (!hours.empty())
            view_.info(hours);
        return instruments;
    }

    std::vector<Inspected> inspect_all(const std::vector<trainer::InstrumentBars>& instruments) {
        std::vector<Inspected> found;
        for (const trainer::InstrumentBars& instrument : instruments) {
            try {
                found.push_back(inspect(instrument));
            } catch (const Error& error) {
                throw trainer::error_of_instrument(instrument.name, error);
            }
        }
        return found;
    }

    Inspected inspect(const trainer::InstrumentBars& instrument) {
        const trainer::TrainConfig& config = instrument.config;
        const market::SessionRules rules = trainer::session_rules(config);
        const market::HolidayCalendar calendar = trainer::holiday_calendar(config);
        const auto advanced = [this](std::uint64_t done, std::uint64_t total) {
            constexpr double none = std::numeric_limits<double>::quiet_NaN();
            view_.advanced({"Reading bars", done, total, "bytes", none, none, none});
        };
        market::ReadResult read =
            instrument.read_bars(trainer::read_options(config, {}), pool_, view_, cancellation_, advanced);
        stop_if_requested(cancellation_);
        Inspected found;
        found.name = instrument.name;
        found.report = market::inspect(read.bars, read.report, rules, calendar, trainer::roll_method(config));
        if (trainer::has_instrument(config))
            found.report.instrument = trainer::instrument_named(config);
        for (std::string& warning : trainer::instrument_warnings(config, read, rules))
            found.report.warnings.push_back(std::move(warning));
        found.rejected = std::move(read.rejected);
        return found;
    }

    const EffectiveConfig& effective_;
    ProgressView& view_;
    CancellationToken cancellation_;
    InterruptionGuard guard_{cancellation_};
    ThreadPool pool_;
    const trainer::BarReader reader_ = market::read_bars;
};

nlohmann::ordered_json json_of(const std::vector<Inspected>& found) {
    if (found.front().name.empty())
        return market::to_json(found.front().report);
    nlohmann::ordered_json json;
    json["instruments"] = nlohmann::ordered_json::array();
    for (const Inspected& one : found) {
        nlohmann::ordered_json entry{{"name", one.name}};
        entry.update(market::to_json(one.report));
        json["instruments"].push_back(std::move(entry));
    }
    return json;
}

void print(const std::vector<Inspected>& found, Context& context) {
    for (const Inspected& one : found) {
        if (!one.name.empty())
            context.output.line(fmt::format("{}{}\n{}", &one == found.data() ? "" : "\n", one.name,
                                            std::string(one.name.size(), '-')));
        context.output.write(market::render(one.report, context.output.traits().width));
    }
}

} // namespace

ExitStatus run_inspect(Context& context) {
    ProgressView view(context.errors, context.errors, context.messages);
    context.line.settings["data"] = context.line.positionals;
    const EffectiveConfig effective = context.config(view);
    const std::vector<Inspected> found = Inspector(effective, view).run();
    view.finish();

    std::vector<market::RejectedRow> rejected;
    for (const Inspected& one : found)
        rejected.insert(rejected.end(), one.rejected.begin(), one.rejected.end());
    write_rejected(found.size() > 1 ? trainer::distinct_rows(std::move(rejected)) : rejected, {}, view);
    if (context.messages.json || context.line.text("format") == "json")
        context.result(json_of(found));
    else
        print(found, context);
    return ExitStatus::success;
}

} // namespace rekindle::cli
