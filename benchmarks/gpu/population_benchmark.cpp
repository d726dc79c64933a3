// Measures how fast populations train, on GPUs and on the CPU. Run by compare.py.
//
//     population_benchmark SPEC.json
//
// SPEC.json: {"repeats": 5, "groups": [[RUN, …], …]}. The runs of a group are measured in turn, repeat by
// repeat, so that a machine that slows down affects all of them. RUN:
//   name, model, training (the JSON of ModelDescription and TrainingSpec), batch_size, rows, shuffled,
//   rows_of ("each" or "all": whether the networks read their own rows), distance (7919: batches between the
//   first rows of one network and the next, if rows are not shuffled), members, steps (per timed call), calls
//   (1; one timing covers that many calls), device ("cpu", "gpu:0", "gpu:0+gpu:1"), threads (cpu), shape
//   ("automatic", "latency" or "throughput")
// Prints one JSON object per run and line: its name, device and shape, the median and all seconds,
// network-steps per second, and the loss of the first and the last call. On GPUs it also prints the seconds
// of one more call and of the kernels in it (of the GPU that takes longest); the difference is the time of
// the host and of copies.

#include <rekindle/foundation/error.h>
#include <rekindle/mlp/population.h>
#include <rekindle/runtime/device.h>
#include <rekindle/runtime/stream.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <random>
#include <span>

namespace {

using namespace rekindle;
using Json = nlohmann::json;

struct Rows {
    std::vector<float> inputs, targets;
    mlp::Samples samples;
};

Rows make_rows(std::size_t inputs, std::size_t count) {
    std::mt19937 random(1);
    const auto number = [&] { return 1.7f * (static_cast<float>(random()) / 2147483648.0f - 1.0f); };
    Rows rows;
    for (std::size_t r = 0; r < count; ++r) {
        for (std::size_t i = 0; i < inputs; ++i)
            rows.inputs.push_back(number());
        const float* x = &rows.inputs[r * inputs];
        rows.targets.push_back(std::sin(x[0]) + 0.5f * x[1] * x[2]);
    }
    rows.samples = {rows.inputs.data(), inputs, rows.targets.data(), count};
    return rows;
}

/// The rows of every network, in the same order as networks.py uses for the peers.
struct Orders {
    std::vector<std::vector<std::uint32_t>> rows;
    std::vector<std::span<const std::uint32_t>> views; ///< one per network, or one for all
};

/// Consecutive rows: every network has a window of one array.
Orders consecutive_orders(const Json& run, std::size_t networks) {
    const std::size_t batch = run["batch_size"], steps = run["steps"];
    const std::size_t rows = run["rows"].get<std::size_t>() / batch * batch;
    Orders orders{{std::vector<std::uint32_t>(rows + steps * batch)}, {}};
    for (std::size_t i = 0; i < orders.rows[0].size(); ++i)
        orders.rows[0][i] = static_cast<std::uint32_t>(i % rows);
    const std::size_t distance = run.value("distance", std::size_t{7919});
    for (std::size_t m = 0; m < networks; ++m)
        orders.views.push_back(std::span(orders.rows[0]).subspan(distance * m * batch % rows, steps * batch));
    return orders;
}

Orders shuffled_orders(const Json& run, std::size_t networks) {
    const std::size_t batch = run["batch_size"], rows = run["rows"], steps = run["steps"];
    Orders orders{std::vector<std::vector<std::uint32_t>>(networks), {}};
    std::vector<std::uint32_t> permutation(rows);
    for (std::size_t m = 0; m < networks; ++m) {
        std::mt19937 random(static_cast<std::uint32_t>(m));
        std::vector<std::uint32_t>& order = orders.rows[m];
        order.resize(steps * batch);
        for (std::size_t i = 0; i < order.size(); ++i) {
            if (i % rows == 0) {
                std::iota(permutation.begin(), permutation.end(), 0u);
                std::shuffle(permutation.begin(), permutation.end(), random);
            }
            order[i] = permutation[i % rows];
        }
    }
    orders.views.assign(orders.rows.begin(), orders.rows.end());
    return orders;
}

Orders make_orders(const Json& run) {
    const std::size_t networks = run["rows_of"] == "each" ? run["members"].get<std::size_t>() : 1;
    return run["shuffled"] == true ? shuffled_orders(run, networks) : consecutive_orders(run, networks);
}

std::vector<mlp::TrainingSpec> make_specs(const Json& run, std::size_t first, std::size_t members) {
    std::vector<mlp::TrainingSpec> specs(members, run["training"].get<mlp::TrainingSpec>());
    for (std::size_t m = 0; m < members; ++m)
        specs[m].seed = first + m;
    return specs;
}

mlp::GpuShape shape_of(const Json& run) {
    const std::string word = run.value("shape", "automatic");
    if (word == "latency")
        return mlp::GpuShape::latency;
    if (word == "throughput")
        return mlp::GpuShape::throughput;
    if (word != "automatic")
        throw usage_error("shape: " + word);
    return mlp::GpuShape::automatic;
}

std::shared_ptr<runtime::Device> opened(const std::string& address) {
    runtime::DeviceOptions options;
    options.log = [](rekindle::LogLevel level, std::string_view text) {
        if (level >= rekindle::LogLevel::warning)
            fmt::print(stderr, "{}\n", text);
    };
    return runtime::Device::open(runtime::select_device(address), std::move(options));
}

/// None for "cpu".
std::vector<std::shared_ptr<runtime::Device>> devices_of(const Json& run) {
    const std::string device = run["device"];
    if (device == "cpu")
        return {};
    const auto plus = device.find('+');
    if (plus == std::string::npos)
        return {opened(device)};
    return {opened(device.substr(0, plus)), opened(device.substr(plus + 1))};
}

std::unique_ptr<mlp::Population> make_population(const Json& run,
                                                 std::span<const std::shared_ptr<runtime::Device>> devices) {
    const auto model = run["model"].get<mlp::ModelDescription>();
    const std::size_t members = run["members"];
    if (devices.empty())
        return mlp::cpu_population(model, make_specs(run, 0, members), run.value("threads", std::size_t{0}));
    std::vector<mlp::PopulationPart> parts;
    for (std::size_t i = 0; i < devices.size(); ++i) {
        const std::size_t first = members * i / devices.size(), end = members * (i + 1) / devices.size();
        parts.push_back(
            {end - first,
             mlp::gpu_population(devices[i], model, make_specs(run, first, end - first), shape_of(run))});
    }
    return parts.size() == 1 ? std::move(parts[0].population) : mlp::joined_population(std::move(parts));
}

/// One run of the specification, which can be timed repeatedly.
class Run {
  public:
    explicit Run(const Json& run)
        : run_(run), rows_(make_rows(run["model"]["inputs"], run["rows"])), orders_(make_orders(run)),
          devices_(devices_of(run)), population_(make_population(run, devices_)),
          samples_(population_->prepare(rows_.samples)) {
        population_->initialize();
        first_loss_ = call(orders_.views);
    }

    void time() { seconds_.push_back(timed(run_.value("calls", 1))); }

    /// Runs one more call in which the time of the kernels is measured as well.
    Json kernel_time() {
        for (const auto& device : devices_) {
            device->profiler().enable(true);
            device->profiler().reset();
        }
        const double seconds = timed(1);
        double in_kernels = 0;
        for (const auto& device : devices_) {
            double sum = 0;
            for (const runtime::Profiler::Row& row : device->profiler().rows())
                sum += row.seconds;
            in_kernels = std::max(in_kernels, sum);
            device->profiler().enable(false);
        }
        return {{"seconds", seconds}, {"in_kernels", in_kernels}};
    }

    Json result() {
        std::vector<double> sorted = seconds_;
        std::sort(sorted.begin(), sorted.end());
        const double median = sorted[sorted.size() / 2];
        const double network_steps =
            run_["members"].get<double>() * run_["steps"].get<double>() * run_.value("calls", 1);
        Json row{
            {"name", run_["name"]},
            {"members", run_["members"]},
            {"device", run_["device"]},
            {"device_name", population_->device()},
            {"shape", run_.value("shape", "automatic")},
            {"seconds", median},
            {"all_seconds", seconds_},
            {"network_steps_per_second", network_steps / median},
            {"microseconds_per_network_step", median / network_steps * 1e6},
            {"microseconds_per_step", median / run_["steps"].get<double>() / run_.value("calls", 1) * 1e6},
            {"loss", {first_loss_, last_loss_}}};
        if (!devices_.empty())
            row["one_call"] = kernel_time();
        return row;
    }

  private:
    double timed(int calls) {
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < calls; ++i)
            last_loss_ = call(orders_.views);
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    /// Returns the mean loss of the first network.
    double call(mlp::RowOrders orders) {
        const auto results = population_->train(*samples_, orders, run_["batch_size"]);
        for (const mlp::TrainResult& result : results)
            if (!result.finite)
                throw Error(
                    fmt::format("{}: a loss or gradient is not finite", run_["name"].get<std::string>()));
        return results.front().loss_sum / static_cast<double>(results.front().rows);
    }

    const Json& run_;
    Rows rows_;
    Orders orders_;
    std::vector<std::shared_ptr<runtime::Device>> devices_;
    std::unique_ptr<mlp::Population> population_;
    std::unique_ptr<mlp::SampleSet> samples_;
    std::vector<double> seconds_;
    double first_loss_ = 0, last_loss_ = 0;
};

void measure_group(const Json& group, int repeats) {
    std::vector<std::unique_ptr<Run>> runs;
    for (const Json& run : group) {
        try {
            runs.push_back(std::make_unique<Run>(run));
        } catch (const std::exception& error) {
            fmt::print("{}\n", Json{{"name", run["name"]},
                                    {"members", run["members"]},
                                    {"device", run["device"]},
                                    {"shape", run.value("shape", "automatic")},
                                    {"failed", error.what()}}
                                   .dump());
        }
    }
    for (int i = 0; i < repeats; ++i)
        for (const auto& run : runs)
            run->time();
    for (const auto& run : runs)
        fmt::print("{}\n", run->result().dump());
    std::fflush(stdout);
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        fmt::print(stderr, "usage: population_benchmark SPEC.json\n");
        return 2;
    }
    try {
        std::ifstream file(argv[1]);
        const Json spec = Json::parse(file);
        for (const Json& group : spec.at("groups"))
            measure_group(group, spec.value("repeats", 5));
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "error: {}\n", error.what());
        return 1;
    }
}
