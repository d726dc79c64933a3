#include "pipeline/cache_folder.h"

#include <rekindle/runtime/tuning.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace rekindle::runtime {

namespace {

constexpr std::string_view kind = "RKTUNE01";
constexpr double needed_gain = 0.97; // a candidate must take less than this share of the default's time
constexpr int rounds = 3, most_rounds = 12;
/// The largest relative difference between two times of a candidate that were measured at the same clocks.
constexpr double steady = 0.05;
constexpr int most_calls = 1000;
constexpr std::chrono::seconds longest_wait(30); // while another process measures

/// Runs the candidate. Returns whether its result is right; nothing if the device cannot run it.
std::optional<bool> checked(const Candidate& candidate) {
    try {
        candidate.queue();
        return candidate.is_right();
    } catch (const Unsupported&) {
        return std::nullopt;
    }
}

/// Measures the candidates with the indices in `right`, those with right results, as fastest() describes.
/// Returns the least time of each, and infinity for the others.
std::vector<double> least_times(std::span<const Candidate> candidates, std::span<const std::size_t> right,
                                const std::function<double(const Candidate&)>& seconds,
                                const std::function<void(const Candidate&)>& warm_up) {
    const std::vector<double> none(candidates.size(), std::numeric_limits<double>::infinity());
    if (right.empty())
        return none;
    const Candidate& reference = candidates[right.front()];
    if (warm_up)
        warm_up(reference);
    std::vector<double> least = none, round = none;
    for (int all = 0, counted = 0; all < most_rounds && counted < rounds; ++all) {
        for (const std::size_t i : right)
            round[i] = seconds(candidates[i]);
        const double change = seconds(reference) / round[right.front()];
        if (change < 1 - steady) { // The clocks have risen, so all times so far are too long.
            least = none;
            counted = 0;
        } else if (change <= 1 + steady) {
            std::ranges::transform(least, round, least.begin(), std::ranges::min);
            ++counted;
        }
    }
    return least == none ? round : least;
}

} // namespace

Choice fastest(std::span<const Candidate> candidates, const std::function<double(const Candidate&)>& seconds,
               const std::function<void(const Candidate&)>& warm_up) {
    Choice choice;
    std::vector<std::size_t> right;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        const std::optional<bool> is_right = checked(candidates[i]);
        if (is_right.value_or(false))
            right.push_back(i);
        else if (is_right.has_value())
            choice.wrong.push_back(i);
    }
    choice.seconds = least_times(candidates, right, seconds, warm_up);
    const auto best = std::ranges::min_element(choice.seconds);
    // If the default's result is wrong, its time is infinite, and any right candidate beats it.
    if (*best < needed_gain * choice.seconds[0])
        choice.index = static_cast<std::size_t>(best - choice.seconds.begin());
    return choice;
}

double device_seconds(Stream& stream, const std::function<void()>& queue, double at_least) {
    const auto measured = [&](int calls) {
        const Event begin = stream.record(true);
        for (int i = 0; i < calls; ++i)
            queue();
        const Event end = stream.record(true);
        end.wait();
        return end.seconds_since(begin);
    };
    const double one = measured(1);
    const int calls =
        static_cast<int>(std::clamp(std::ceil(at_least / std::max(one, 1e-9)), 1.0, double{most_calls}));
    return calls == 1 ? one : measured(calls) / calls;
}

TuningStore::TuningStore(const DeviceInfo& device, const std::filesystem::path& folder) {
    if (folder.empty())
        return;
    path_ = folder / "tuning" / file_name_of(device);
    read();
}

void TuningStore::read() {
    try {
        const auto payload = CacheFile(path_, kind).read();
        if (!payload)
            return;
        std::map<std::string, std::string> stored;
        std::string_view rest(reinterpret_cast<const char*>(payload->data()), payload->size());
        while (!rest.empty()) {
            const std::size_t end = rest.find('\n'), tab = rest.find('\t');
            if (end == std::string_view::npos || tab > end)
                throw Error(path_.string() + " is damaged: a line cannot be read");
            stored.insert_or_assign(std::string(rest.substr(0, tab)),
                                    std::string(rest.substr(tab + 1, end - tab - 1)));
            rest.remove_prefix(end + 1);
        }
        stored.merge(choices_); // prefers what another process has stored since
        choices_ = std::move(stored);
    } catch (const Error& error) {
        problem_ = error.what();
    }
}

void TuningStore::write() const {
    std::string text;
    for (const auto& [key, choice] : choices_)
        text += key + "\t" + choice + "\n";
    CacheFile(path_, kind).write(std::as_bytes(std::span(text)));
}

std::string TuningStore::problem() const {
    const std::lock_guard lock(mutex_);
    return problem_;
}

std::optional<std::string> TuningStore::find(const std::string& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = choices_.find(key);
    return found == choices_.end() ? std::nullopt : std::optional(found->second);
}

void TuningStore::keep(const std::string& key, const std::string& name) {
    const std::lock_guard lock(mutex_);
    if (!path_.empty())
        try {
            const FileLock others_wait = CacheFile(path_, kind).lock(longest_wait);
            read();
            choices_.insert_or_assign(key, name);
            write();
            return;
        } catch (const Error& error) {
            problem_ = error.what();
        }
    choices_.insert_or_assign(key, name);
}

std::string TuningStore::find_or_make(const std::string& key, const std::function<std::string()>& make) {
    const std::lock_guard lock(mutex_);
    const auto find = [&] { return choices_.find(key); };
    if (find() != choices_.end())
        return find()->second;
    if (path_.empty())
        return choices_.emplace(key, make()).first->second;
    const FileLock others_wait = CacheFile(path_, kind).lock(longest_wait);
    read();
    if (find() != choices_.end())
        return find()->second;
    const auto made = choices_.emplace(key, make()).first;
    try {
        write();
    } catch (...) {
        choices_.erase(made);
        throw;
    }
    return made->second;
}

std::filesystem::path default_cache_folder() {
    return cache_folder({});
}

} // namespace rekindle::runtime
