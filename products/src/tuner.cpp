#include <rekindle/foundation/environment.h>
#include <rekindle/products/tuner.h>

#include <algorithm>
#include <iomanip>
#include <sstream>

namespace rekindle::products {

namespace {

/// Measurements per process, limited so that a program whose sizes keep changing is not slowed down.
constexpr int most_measured = 512;
constexpr double warm_up = 0.06; // seconds of work before measuring; an idle GPU runs at low clocks

} // namespace

bool tuning_is_on() {
    static const bool on = switched_on("REKINDLE_AUTOTUNE");
    return on;
}

Tuner::Tuner(const runtime::DeviceInfo& device, runtime::LogCallback log)
    : device_name_(device.name), log_(std::move(log)), store_(device, runtime::default_cache_folder()) {
    report_problem("measuring again");
}

void Tuner::report_problem(const std::string& consequence) {
    const std::string problem = store_.problem();
    if (problem == reported_)
        return;
    reported_ = problem;
    if (log_)
        log_(LogLevel::warning, "REKINDLE_AUTOTUNE: " + problem + "; " + consequence);
}

std::size_t Tuner::choose(runtime::Stream& stream, const std::string& key,
                          const std::vector<std::string>& names, const MakeCandidates& make_candidates) {
    const std::lock_guard lock(mutex_);
    if (const auto known = choices_.find(key); known != choices_.end())
        return known->second;
    std::size_t chosen = 0;
    const auto stored = store_.find(key);
    const auto same = stored ? std::ranges::find(names, *stored) : names.end();
    if (same != names.end()) {
        chosen = static_cast<std::size_t>(same - names.begin());
    } else if (measured_ < most_measured) {
        const std::vector<runtime::Candidate> candidates = make_candidates();
        if (candidates.empty())
            return 0;
        ++measured_;
        chosen = measure(stream, key, candidates);
    }
    choices_.emplace(key, chosen);
    return chosen;
}

std::size_t Tuner::measure(runtime::Stream& stream, const std::string& key,
                           const std::vector<runtime::Candidate>& candidates) {
    const runtime::Choice choice = runtime::fastest(
        candidates, [&](const runtime::Candidate& one) { return runtime::device_seconds(stream, one.queue); },
        [&](const runtime::Candidate& one) { runtime::device_seconds(stream, one.queue, warm_up); });
    if (log_)
        for (const std::size_t i : choice.wrong)
            log_(LogLevel::warning, "REKINDLE_AUTOTUNE: on " + device_name_ + ", " + key + " computed as " +
                                        candidates[i].name +
                                        " is wrong; it is not used there. Please report this.");
    store_.keep(key, candidates[choice.index].name);
    report_problem("the next program will measure again");
    if (log_) {
        std::ostringstream line;
        line << std::fixed << std::setprecision(2) << "tuned " << key << ": " << candidates[choice.index].name
             << ';';
        for (std::size_t i = 0; i < candidates.size(); ++i)
            line << (i == 0 ? " " : ", ") << candidates[i].name << ' ' << 1e6 * choice.seconds[i] << " us";
        log_(LogLevel::info, line.str());
    }
    return choice.index;
}

} // namespace rekindle::products
