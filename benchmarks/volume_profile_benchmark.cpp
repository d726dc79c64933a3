/// Measures volume profiles on one core: rolling, developing and per session, each compared with a plain
/// rebuild of every profile.
///
///     volume_profile_benchmark [BARS]        (default 1,000,000; sessions use 1,140,000)
///
/// "narrow" bars cover about 5 ticks, "wide" ones about 25. Runs alternate; figures are medians of CPU time.
/// A naive method runs on the first windows only and must agree with the fast one there; otherwise the
/// program exits with status 1.

#include <rekindle/base/philox.h>
#include <rekindle/market/rolling_profile.h>
#include <rekindle/market/volume_profile.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

namespace {

using namespace rekindle;
using namespace rekindle::market;

constexpr int repeats = 5;
constexpr std::size_t naive_bars = 20'000;
constexpr TickSize tick{0.25};

/// A random walk of eight steps per bar with log-normal volume.
BarBuffer make_bars(std::size_t count, double ticks_per_bar) {
    BarBuffer bars;
    PhiloxStream random(7, RandomPurpose::simulation);
    double price = 24'000;
    for (std::size_t i = 0; i < count; ++i) {
        const double open = price;
        double high = price;
        double low = price;
        for (int step = 0; step < 8; ++step) {
            price += ticks_per_bar / std::sqrt(8.0) * random.next_normal();
            high = std::max(high, price);
            low = std::min(low, price);
        }
        const auto whole = [](double value) { return static_cast<Ticks>(std::floor(value)); };
        bars.time.push_back(static_cast<std::int64_t>(60 * i));
        bars.open.push_back(whole(open));
        bars.high.push_back(whole(high));
        bars.low.push_back(whole(low));
        bars.close.push_back(whole(price));
        bars.volume.push_back(std::max<std::int64_t>(1, std::llround(std::exp(6 + random.next_normal()))));
        bars.contract.push_back(0);
    }
    return bars;
}

/// CPU time of this thread: everything here runs on one thread, and other processes must not count.
double cpu_seconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double seconds_of(const std::function<void()>& work) {
    const double start = cpu_seconds();
    work();
    return cpu_seconds() - start;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// Median seconds of each job; the jobs take turns.
std::vector<double> alternate(const std::vector<std::function<void()>>& jobs) {
    std::vector<std::vector<double>> seconds(jobs.size());
    for (int repeat = 0; repeat < repeats; ++repeat)
        for (std::size_t job = 0; job < jobs.size(); ++job)
            seconds[job].push_back(seconds_of(jobs[job]));
    std::vector<double> medians;
    for (const auto& each : seconds)
        medians.push_back(median(each));
    return medians;
}

/// Rebuilds every window: one addition per bar and level, then a search.
std::vector<Ticks> rebuilt_controls(const BarColumns& bars, std::size_t window, std::size_t first,
                                    std::size_t count) {
    std::vector<Ticks> controls;
    std::vector<std::int64_t> levels;
    for (std::size_t i = first; i < first + count; ++i) {
        const BarColumns last = bars.subspan(i + 1 - window, window);
        const Ticks lowest = *std::min_element(last.low.begin(), last.low.end());
        const Ticks highest = *std::max_element(last.high.begin(), last.high.end());
        levels.assign(static_cast<std::size_t>(highest - lowest + 1), 0);
        for (std::size_t k = 0; k < window; ++k) {
            const std::int64_t share = (last.volume[k] << 16) / (last.high[k] - last.low[k] + 1);
            for (Ticks price = last.low[k]; price <= last.high[k]; ++price)
                levels[static_cast<std::size_t>(price - lowest)] += share;
        }
        controls.push_back(
            lowest + static_cast<Ticks>(std::max_element(levels.begin(), levels.end()) - levels.begin()));
    }
    return controls;
}

void require(bool equal, const std::string& what) {
    if (equal)
        return;
    fmt::print(stderr, "{}: the naive and the fast method disagree\n", what);
    std::exit(1);
}

void rolling(const BarBuffer& buffer, const char* name, std::size_t window) {
    const BarColumns bars = buffer.columns();
    const std::size_t naive_count =
        std::min({naive_bars, bars.size() - window, 20'000 * std::size_t{390} / window});
    std::vector<Ticks> fast;
    std::vector<Ticks> naive;
    std::vector<MovingProfilePoint> areas;
    const auto seconds = alternate({
        [&] { fast = rolling_point_of_control(bars, tick, window, {}); },
        [&] { areas = rolling_profile(bars, tick, window, {}); },
        [&] { naive = rebuilt_controls(bars, window, window, naive_count); },
    });
    require(std::equal(naive.begin(), naive.end(), fast.begin() + static_cast<std::ptrdiff_t>(window)), name);
    const auto count = static_cast<double>(bars.size());
    const double naive_rate = static_cast<double>(naive_count) / seconds[2];
    fmt::print(
        "rolling {:>5} {:<7} point of control {:6.2f} M bars/s ({:5.1f} x rebuilding, {:.2f} M bars/s); with "
        "value area {:5.2f} M bars/s\n",
        window, name, count / seconds[0] / 1e6, count / seconds[0] / naive_rate, naive_rate / 1e6,
        count / seconds[1] / 1e6);
}

std::vector<Session> sessions_of(std::size_t bars, std::size_t each) {
    std::vector<Session> sessions;
    for (std::size_t first = 0; first < bars; first += each) {
        Session session;
        session.first = first;
        session.count = std::min(each, bars - first);
        sessions.push_back(session);
    }
    return sessions;
}

void developing(const BarBuffer& buffer, const char* name) {
    const BarColumns bars = buffer.columns();
    const auto sessions = sessions_of(bars.size(), 390);
    const auto seconds = alternate({[&] {
        for (const Session& session : sessions)
            developing_profile(bars.subspan(session.first, session.count), tick, {});
    }});
    fmt::print("developing 390 {:<7} point of control and value area {:5.2f} M bars/s\n", name,
               static_cast<double>(bars.size()) / seconds[0] / 1e6);
}

/// Sessions of 1,380 one-minute bars, summarized on one thread; the plain method adds level by level.
void sessions(const char* name, double ticks_per_bar) {
    BarMetadata metadata;
    metadata.contracts = {""};
    const BarTable table = BarBuffer::into_table(make_bars(1'140'000, ticks_per_bar), metadata);
    const auto all = sessions_of(table.size(), 1380);
    ThreadPool pool(1);
    std::vector<SessionSummary> summaries;
    std::vector<Ticks> plain;
    const auto with = [&](ProfileRules rules) {
        return [&, rules] { summaries = summarize_sessions(table, all, rules, pool); };
    };
    const auto seconds = alternate({
        with({.compatibility = Compatibility::gpu}),
        with({.compatibility = Compatibility::notebook}),
        with({.weighting = Weighting::ohlc}),
        with({.weighting = Weighting::close}),
        with({}),
        [&] {
            plain.clear();
            for (const Session& session : all)
                plain.push_back(rebuilt_controls(table.columns().subspan(session.first, session.count),
                                                 session.count, session.count - 1, 1)[0]);
        },
    });
    for (std::size_t s = 0; s < all.size(); ++s)
        require(summaries[s].point_of_control == plain[s], name);
    fmt::print("summaries of {} sessions, 1.14 M {} bars, one thread: uniform {:.1f} ms, close {:.1f} ms, "
               "ohlc {:.1f} ms, "
               "generation N {:.1f} ms, generation G {:.1f} ms; adding level by level, point of control "
               "only {:.1f} ms\n",
               all.size(), name, seconds[4] * 1e3, seconds[3] * 1e3, seconds[2] * 1e3, seconds[1] * 1e3,
               seconds[0] * 1e3, seconds[5] * 1e3);
}

} // namespace

int main(int argc, char** argv) {
    const std::size_t count =
        argc > 1 ? static_cast<std::size_t>(std::strtoull(argv[1], nullptr, 10)) : 1'000'000;
    if (count < 4000) {
        fmt::print(stderr, "volume_profile_benchmark [BARS], at least 4000\n");
        return 2;
    }
    for (const auto& [name, ticks_per_bar] : {std::pair{"narrow", 3.0}, std::pair{"wide", 20.0}}) {
        const BarBuffer bars = make_bars(count, ticks_per_bar);
        double levels = 0;
        for (std::size_t i = 0; i < count; ++i)
            levels += bars.high[i] - bars.low[i] + 1;
        fmt::print("{}: {} bars of {:.1f} levels\n", name, count, levels / static_cast<double>(count));
        rolling(bars, name, 390);
        rolling(bars, name, 1950);
        developing(bars, name);
        sessions(name, ticks_per_bar);
    }
    return 0;
}
