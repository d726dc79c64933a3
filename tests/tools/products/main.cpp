/// rekindle_products_tool evaluate|fit FILE [RATES]
///
/// Reads times that benchmarks/gpu/planner.py measured, and compares the plans that the cost model chooses
/// with the fastest ones. evaluate: with the rates of the file, or those given as "float32_rate=… …" (the
/// form in which fit prints them), or "default". fit: finds the rates with which the estimates are closest to
/// the measured times, prints them, and evaluates them.

#include <rekindle/products/fit.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <string>

namespace {

using namespace rekindle::products;
using nlohmann::json;

/// One shape with the times of its plans.
struct Case {
    std::string name, group; ///< group: the kind of shape, as planner.py names it

    std::vector<Sample> samples;
};

struct Measurements {
    DeviceParameters device;
    std::vector<Case> cases;
};

ElementType type_named(const std::string& text) {
    for (const ElementType type : {ElementType::float32, ElementType::float16, ElementType::bfloat16,
                                   ElementType::float64, ElementType::int64})
        if (name(type) == text)
            return type;
    throw std::runtime_error("unknown type " + text);
}

DeviceParameters device_of(const json& line) {
    DeviceParameters device{.claimed = rekindle::kernels::Features(line.at("claimed").get<std::uint32_t>()),
                            .usable = rekindle::kernels::Features(line.at("usable").get<std::uint32_t>()),
                            .minimum_subgroup = line.at("minimum_subgroup"),
                            .maximum_subgroup = line.at("maximum_subgroup"),
                            .shared_bytes = line.at("shared_bytes"),
                            .compute_units = line.at("compute_units")};
    if (!read_rates(device, line.at("rates").get<std::string>()))
        throw std::runtime_error("the rates of the device cannot be read");
    return device;
}

void add_samples(Case& one, const json& times, const auto& shape, const std::vector<Plan>& plans) {
    for (const Plan& plan : plans)
        if (const auto found = times.find(plan.name()); found != times.end())
            one.samples.push_back({shape, plan, found->template get<double>()});
}

Case case_of(const DeviceParameters& device, const json& line) {
    Case one{line.at("key"), line.at("group"), {}};
    if (line.at("kind") == "attention") // its kernels are few, and planner.py reports their losses
        return one;
    const json& times = line.at("seconds");
    const ElementType type = type_named(line.at("type"));
    if (line.at("kind") == "product") {
        const ProductShape shape{type,
                                 line.at("m"),
                                 line.at("n"),
                                 line.at("k"),
                                 line.at("batch"),
                                 line.at("a_aligned"),
                                 line.at("b_aligned")};
        add_samples(one, times, shape, possible_plans(device, shape));
    } else {
        const ConvolutionShape shape{type,
                                     line.at("pass").get<ConvolutionPass>(),
                                     line.at("m"),
                                     line.at("n"),
                                     line.at("k"),
                                     line.at("groups"),
                                     line.at("channels"),
                                     line.at("taps")};
        add_samples(one, times, shape,
                    line.at("on_units").get<bool>() ? possible_unit_plans(device, shape)
                                                    : possible_plans(device, shape));
    }
    return one;
}

Measurements read(const char* path) {
    std::ifstream file(path);
    if (!file)
        throw std::runtime_error(std::string("cannot read ") + path);
    Measurements all;
    int number = 0;
    for (std::string text; std::getline(file, text);) {
        ++number;
        try {
            const json line = json::parse(text);
            if (line.at("kind") == "device")
                all.device = device_of(line);
            else if (Case one = case_of(all.device, line); one.samples.size() > 1)
                all.cases.push_back(std::move(one));
        } catch (const json::exception& error) {
            throw std::runtime_error(std::string(path) + ", line " + std::to_string(number) + ": " +
                                     error.what() +
                                     ". Another version of planner.py may have written it; measure again.");
        }
    }
    return all;
}

/// How much longer the chosen plan takes than the fastest one, as a fraction.
double loss(const DeviceParameters& device, const Case& one, std::string* chosen = nullptr,
            std::string* fastest = nullptr) {
    const auto by_estimate = std::ranges::min_element(
        one.samples, {}, [&](const Sample& sample) { return estimate(device, sample); });
    const auto best = std::ranges::min_element(one.samples, {}, &Sample::seconds);
    if (chosen != nullptr)
        *chosen = by_estimate->plan.name();
    if (fastest != nullptr)
        *fastest = best->plan.name();
    return by_estimate->seconds / best->seconds - 1;
}

void evaluate(const DeviceParameters& device, const std::vector<Case>& cases) {
    std::map<std::string, std::vector<std::pair<double, std::string>>> losses;
    std::vector<Sample> samples;
    for (const Case& one : cases) {
        std::string chosen, fastest;
        const double lost = loss(device, one, &chosen, &fastest);
        losses[one.group].emplace_back(lost, one.name + ": " + chosen + " instead of " + fastest);
        samples.insert(samples.end(), one.samples.begin(), one.samples.end());
    }
    std::printf("rates %s\n%zu shapes, %zu times, misfit %.3f\n", rates_text(device).c_str(), cases.size(),
                samples.size(), misfit(device, samples));
    for (auto& [group, some] : losses) {
        std::ranges::sort(some, std::greater());
        double sum = 0;
        for (const auto& [lost, text] : some)
            sum += lost;
        std::printf("%s: %zu shapes, loss %.1f %% on average, %.1f %% at worst\n", group.c_str(), some.size(),
                    100 * sum / static_cast<double>(some.size()), 100 * some.front().first);
        for (std::size_t i = 0; i < std::min<std::size_t>(some.size(), 5); ++i)
            std::printf("  %5.1f %%  %s\n", 100 * some[i].first, some[i].second.c_str());
    }
}

int run(int count, char** words) {
    if (count < 3)
        throw std::runtime_error("usage: rekindle_products_tool evaluate|fit FILE [RATES]");
    Measurements all = read(words[2]);
    if (count > 3 && std::string(words[3]) == "default")
        set_default_rates(all.device);
    else if (count > 3 && !read_rates(all.device, words[3]))
        throw std::runtime_error("cannot read the rates");
    if (std::string(words[1]) == "fit") {
        std::vector<Sample> samples;
        for (const Case& one : all.cases)
            samples.insert(samples.end(), one.samples.begin(), one.samples.end());
        all.device = fit(all.device, samples);
    }
    evaluate(all.device, all.cases);
    return 0;
}

} // namespace

int main(int count, char** words) {
    try {
        return run(count, words);
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 2;
    }
}
