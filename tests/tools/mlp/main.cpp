/// A bridge for scripts: trains networks or computes gradients from a JSON file. Built only with the tests.
///
///     rekindle_mlp_tool SPECIFICATION.json
///     rekindle_mlp_tool peak          measures the multiply-add peak of one CPU core
///
/// {"model": …, "training": …, "action": "train" | "gradients" | "time", "batch_size": B, "steps": S,
///  "shuffled": bool, "members": N, "repeats": R, "parameters": FILE?, "inputs": FILE, "targets": FILE,
///  "output": FILE, "device": "cpu" | "gpu:0" | …, "shape": "automatic" | "latency" | "throughput",
///  "instruction_set": "x86-64-v3"?}
///
/// Member m uses the training spec with seed + m. Files hold little-endian float32: parameters in the
/// engine's order (state-dict order), in PyTorch's layout, for one member (all members start with them);
/// outputs of all members, one after the other. train: `steps` batches of consecutive rows, wrapping around;
/// output: parameters. gradients: for the first batch_size rows. time: prints seconds per step of all members
/// as JSON, the median of `repeats` runs.

#include "cpu/instruction_set.h"

#include <rekindle/base/philox.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/mlp/population.h>
#include <rekindle/runtime/device.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <numeric>

namespace {

using namespace rekindle;
using nlohmann::json;

std::vector<float> read_floats(const std::string& path) {
    const std::string bytes = read_file(path);
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
    return values;
}

/// One list of tensors per member.
template <class Get>
void write_tensors(const std::string& path, const mlp::Population& population, const Get& get) {
    AtomicFile file(path);
    for (std::size_t m = 0; m < population.size(); ++m)
        for (const mlp::NamedTensor& tensor : get(m))
            file.write(std::as_bytes(std::span(tensor.values)));
    file.commit();
}

void load_parameters(mlp::Population& population, const std::vector<float>& values) {
    std::vector<mlp::NamedTensor> tensors = population.parameters(0);
    std::size_t at = 0;
    for (mlp::NamedTensor& tensor : tensors)
        for (float& value : tensor.values)
            value = values.at(at++);
    for (std::size_t m = 0; m < population.size(); ++m)
        population.set_parameters(m, tensors);
}

/// Rows of `steps` batches, consecutive or shuffled, wrapping around.
std::vector<std::uint32_t> make_order(std::size_t rows, std::size_t count, bool shuffled) {
    std::vector<std::uint32_t> pass(rows), order;
    std::iota(pass.begin(), pass.end(), 0u);
    PhiloxStream random(1, RandomPurpose::shuffle);
    while (order.size() < count) {
        if (shuffled)
            for (std::size_t i = rows; i-- > 1;)
                std::swap(pass[i], pass[random.next_below(static_cast<std::uint32_t>(i + 1))]);
        order.insert(order.end(), pass.begin(), pass.end());
    }
    order.resize(count);
    return order;
}

mlp::GpuShape shape(const json& spec) {
    const std::string requested = spec.value("shape", "automatic");
    if (requested == "latency")
        return mlp::GpuShape::latency;
    if (requested == "throughput")
        return mlp::GpuShape::throughput;
    if (requested == "automatic")
        return mlp::GpuShape::automatic;
    throw usage_error("unknown shape '" + requested + "'").expected("automatic, latency or throughput");
}

std::unique_ptr<mlp::Population> make_population(const json& spec) {
    if (spec.contains("instruction_set"))
        ::setenv("REKINDLE_ISA", spec.at("instruction_set").get<std::string>().c_str(), 1);
    const auto model = spec.at("model").get<mlp::ModelDescription>();
    const auto training = spec.at("training").get<mlp::TrainingSpec>();
    std::vector<mlp::TrainingSpec> members(spec.value("members", std::size_t{1}), training);
    for (std::size_t m = 0; m < members.size(); ++m)
        members[m].seed += m;
    const std::string device = spec.value("device", "cpu");
    if (device == "cpu")
        return mlp::cpu_population(model, members, training.threads);
    return mlp::gpu_population(runtime::Device::open(runtime::select_device(device)), model, members,
                               shape(spec));
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

/// Seconds per step of all members, by the wall clock and by this process's CPU clock, which does not count
/// waiting for a CPU.
json time_steps(mlp::Population& population, const mlp::SampleSet& samples,
                std::span<const std::uint32_t> order, std::size_t batch_size, std::size_t repeats) {
    std::vector<double> wall, own;
    const std::size_t whole_steps = order.size() / batch_size;
    const auto steps = static_cast<double>(whole_steps);
    const auto warm_up = order.first(order.size() / 10 / batch_size * batch_size);
    population.train(samples, std::span(&warm_up, 1), batch_size);
    for (std::size_t i = 0; i < repeats; ++i) {
        const auto start = std::chrono::steady_clock::now();
        const std::clock_t own_start = std::clock();
        population.train(samples, std::span(&order, 1), batch_size);
        own.push_back(static_cast<double>(std::clock() - own_start) / CLOCKS_PER_SEC / steps);
        wall.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
                       steps);
    }
    return {{"device", population.device()},
            {"wall_seconds_per_step", median(wall)},
            {"cpu_seconds_per_step", median(own)},
            {"network_steps_per_second", static_cast<double>(population.size()) / median(wall)}};
}

void train(mlp::Population& population, const mlp::SampleSet& samples, std::span<const std::uint32_t> order,
           std::size_t batch_size, const std::string& output) {
    const mlp::TrainResult result = population.train(samples, std::span(&order, 1), batch_size).front();
    population.finish_accumulation();
    write_tensors(output, population, [&](std::size_t m) { return population.parameters(m); });
    const json summary{{"loss_sum", result.loss_sum}, {"steps", result.steps}, {"finite", result.finite}};
    std::puts(summary.dump().c_str());
}

void run(const json& spec) {
    const auto population = make_population(spec);
    population->initialize();
    if (spec.contains("parameters"))
        load_parameters(*population, read_floats(spec.at("parameters")));
    const std::vector<float> inputs = read_floats(spec.at("inputs")),
                             targets = read_floats(spec.at("targets"));
    const auto samples =
        population->prepare({inputs.data(), population->model().inputs, targets.data(), targets.size()});
    const std::size_t batch_size = spec.at("batch_size");
    const std::size_t steps = spec.value("steps", std::size_t{1});
    const auto order = make_order(targets.size(), steps * batch_size, spec.value("shuffled", false));
    const std::string action = spec.at("action");
    if (action == "gradients")
        write_tensors(spec.at("output"), *population, [&](std::size_t m) {
            return population->gradients(m, *samples, std::span(order).first(batch_size));
        });
    else if (action == "train")
        train(*population, *samples, order, batch_size, spec.at("output"));
    else if (action == "time")
        std::puts(time_steps(*population, *samples, order, batch_size, spec.value("repeats", std::size_t{5}))
                      .dump()
                      .c_str());
    else
        throw usage_error("unknown action '" + action + "'").expected("train, gradients or time");
}

void print_peak() {
    const mlp::InstructionSet instructions = mlp::chosen_instruction_set();
    const mlp::cpu::KernelTable& kernels = mlp::cpu::kernels(instructions);
    constexpr std::size_t iterations = 1'000'000;
    constexpr double operations = 2.0 * 14 * mlp::cpu::lanes * iterations;
    std::vector<double> gigaflops;
    float sink = 0;
    for (int repeat = 0; repeat < 5; ++repeat) {
        const std::clock_t start = std::clock();
        sink += kernels.multiply_add_chains(iterations);
        gigaflops.push_back(operations * CLOCKS_PER_SEC / static_cast<double>(std::clock() - start) * 1e-9);
    }
    if (sink == 0)
        throw internal_error("the multiply-add chains returned nothing");
    std::puts(
        json{{"gigaflops", median(gigaflops)}, {"instruction_set", mlp::name(instructions)}}.dump().c_str());
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("usage: rekindle_mlp_tool SPECIFICATION.json | peak\n", stderr);
        return static_cast<int>(ExitStatus::usage);
    }
    try {
        if (argv[1] == std::string_view("peak"))
            print_peak();
        else
            run(json::parse(read_file(argv[1])));
        return 0;
    } catch (const Error& error) {
        std::fprintf(stderr, "%s\n", error.render().c_str());
        return static_cast<int>(error.status());
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return static_cast<int>(ExitStatus::internal);
    }
}
