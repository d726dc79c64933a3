#include "job_config.h"

#include <rekindle/base/hash.h>
#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/market/clock.h>
#include <rekindle/market/profile_output.h>
#include <rekindle/trainer/market_data.h>
#include <rekindle/trainer/settings.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace rekindle::research {

namespace {

constexpr const char* option_name = "--resume-from-checkpoint";
constexpr std::array changeable{"data",    "chain",  "vix",        "calendar", "model",
                                "threads", "device", "device_ids", "output",   "resume_from_checkpoint"};

std::string hint_for(std::string_view noun) {
    return fmt::format("Omit the option, or start a new {}.", noun);
}

} // namespace

trainer::TrainConfig new_config(trainer::TrainConfig requested, const std::set<std::string>& given,
                                trainer::ProgressSink& progress) {
    trainer::TrainConfig config = trainer::with_absolute_paths(std::move(requested));
    if (const std::string sentence = trainer::infer_instrument(config, given); !sentence.empty())
        progress.info(sentence);
    return config;
}

trainer::TrainConfig resumed_config(const trainer::TrainConfig& requested, const std::set<std::string>& given,
                                    const trainer::TrainConfig& stored, std::string_view noun) {
    nlohmann::ordered_json asked, own;
    to_json(asked, trainer::with_absolute_paths(requested));
    to_json(own, stored);
    for (const std::string& key : given) {
        if (std::ranges::find(changeable, key) == changeable.end() && own[key] != asked[key])
            throw usage_error(fmt::format("this {} was started with {} = {} and cannot continue with {}",
                                          noun, key, own[key].dump(), asked[key].dump()))
                .at(option_name)
                .hint(hint_for(noun));
        if (key != "output")
            own[key] = asked[key];
    }
    trainer::TrainConfig config = stored;
    trainer::update_from_json(own, config);
    return config;
}

std::string hash_of_bars(std::span<const trainer::MarketData> markets) {
    if (markets.size() == 1 && markets.front().instrument.empty())
        return markets.front().read.report.data_hash.hex();
    std::string text;
    for (const trainer::MarketData& data : markets)
        text += data.instrument + " " + data.read.report.data_hash.hex() + "\n";
    return hash128(text).hex();
}

void add_bars(std::span<const trainer::MarketData> markets, trainer::ReportData& report) {
    const auto number = [](std::size_t value) { return with_thousands(static_cast<std::int64_t>(value)); };
    for (const trainer::MarketData& data : markets) {
        const market::ReadReport& read = data.read.report;
        report.inputs.push_back(trainer::report_input(read));
        report.synthetic = report.synthetic || read.synthetic;
        const std::string of = data.instrument.empty() ? "" : " of " + data.instrument;
        report.data.push_back({"Bars" + of, fmt::format("{} ({}, {})", number(read.rows), read.format,
                                                        format_bytes(read.bytes))});
        report.data.push_back(
            {"Sessions" + of,
             fmt::format("{}, {} to {}{}", number(data.summaries.size()),
                         market::format_date(data.summaries.front().date),
                         market::format_date(data.summaries.back().date),
                         data.instrument.empty() ? "" : "; " + trainer::hours_text(data.session_rules))});
        report.data.push_back({"Tick" + of, market::tick_text(read)});
    }
    trainer::sort_inputs(report.inputs);
    report.data.push_back({"XXH3-128 of the input", hash_of_bars(markets)});
}

void refuse_on_resume(std::string_view option, std::string_view noun) {
    throw usage_error(fmt::format("--{} cannot change when a {} is resumed", option, noun))
        .at(option_name)
        .hint(hint_for(noun));
}

} // namespace rekindle::research
