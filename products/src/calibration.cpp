#include <rekindle/foundation/environment.h>
#include <rekindle/products/calibration.h>
#include <rekindle/products/multiply.h>
#include <rekindle/runtime/error.h>
#include <rekindle/runtime/memory.h>
#include <rekindle/runtime/tuning.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <random>
#include <sstream>

namespace rekindle::products {

namespace {

/// Renew the number when kernels or the cost model change so much that stored rates no longer fit.
constexpr const char* store_key = "calibration 4";
constexpr double budget = 1.5;           // seconds, without the time to compile
constexpr double warm_up_seconds = 0.06; // of work before each measurement; an idle GPU runs at low clocks
constexpr double worst_misfit = 0.7;     // estimates are off by about a factor of two

/// A product whose workgroups all do the same work, with `groups_per_unit` workgroups for each compute unit.
struct MeasuredProduct {
    ElementType type;
    std::uint32_t tile_rows, tile_columns; ///< not measured if the device has no such tile
    std::int64_t groups_per_unit, k;
    bool wide = false;
};
/// Some fill the compute units and some do not; some of the tiles are limited by multiplying and some by
/// loading. The most important come first, because the time may not suffice for all.
constexpr std::array measured_products{MeasuredProduct{ElementType::float32, 128, 128, 4, 1024},
                                       MeasuredProduct{ElementType::float32, 128, 128, 4, 1024, true},
                                       MeasuredProduct{ElementType::float32, 32, 32, 16, 512},
                                       MeasuredProduct{ElementType::float16, 128, 128, 4, 2048},
                                       MeasuredProduct{ElementType::float16, 64, 64, 8, 2048},
                                       MeasuredProduct{ElementType::float16, 64, 64, 1, 2048},
                                       MeasuredProduct{ElementType::float16, 128, 128, 8, 2048, true},
                                       MeasuredProduct{ElementType::float32, 64, 64, 4, 1024},
                                       MeasuredProduct{ElementType::float32, 128, 128, 1, 1024}};

/// Fills the buffer with random numbers, because products of zeros can be faster than others: magnitudes
/// between 1/8 and 1/4 in float16, and small normal numbers in float32.
void fill(runtime::Stream& stream, const runtime::Buffer& buffer) {
    std::mt19937 random(11);
    std::vector<std::uint32_t> words(std::min<std::uint64_t>(buffer.bytes(), 1 << 20) / 4);
    for (std::uint32_t& word : words)
        word = (static_cast<std::uint32_t>(random()) & 0x83ff83ffu) | 0x30003000u;
    stream.upload(buffer.pointer(), std::as_bytes(std::span(words)));
    for (std::uint64_t filled = words.size() * 4; filled < buffer.bytes();) {
        const std::uint64_t next = std::min(filled, buffer.bytes() - filled);
        stream.copy(buffer.pointer() + filled, buffer.pointer(), next);
        filled += next;
    }
}

double median_seconds(runtime::Stream& stream, const std::function<void()>& queue) {
    std::array<double, 3> seconds{};
    for (double& one : seconds)
        one = runtime::device_seconds(stream, queue, 2e-3);
    std::ranges::sort(seconds);
    return seconds[1];
}

class Calibration {
  public:
    Calibration(runtime::Device& device, const DeviceParameters& start)
        : device_(device), stream_(device.make_stream()), parameters_(start) {
        // Enough for the products, but not much of a small GPU's memory.
        std::uint64_t memory = 0;
        for (const runtime::Heap& heap : device.info().can.heaps)
            if (heap.device_local)
                memory = std::max(memory, heap.bytes);
        const std::uint64_t bytes = std::clamp<std::uint64_t>(memory / 32, 16 << 20, 128 << 20);
        for (runtime::Buffer* const one : {&first_, &second_, &third_}) {
            *one = device.allocator().allocate(bytes, runtime::MemoryKind::device, stream_.get());
            fill(*stream_, *one);
        }
    }

    DeviceParameters measure() {
        for (const MeasuredProduct& one : measured_products)
            measure_product(one);
        measure_launch();
        scale();
        return parameters_;
    }
    const std::vector<Sample>& samples() const { return samples_; }

  private:
    /// The median of estimated / measured time over the products whose tile `counts` accepts, or 1 if there
    /// is no such product.
    template <class F>
    double median_ratio(F&& counts) const {
        std::vector<double> ratios;
        for (const Sample& sample : samples_)
            if (counts(sample.plan.tile))
                ratios.push_back(estimate(parameters_, sample) / sample.seconds);
        if (ratios.empty())
            return 1;
        const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
        std::ranges::nth_element(ratios, middle);
        return *middle;
    }

    /// Scales the rates by the measured times. Does not fit each rate on its own: on an H100, rates fitted to
    /// these few times gave worse plans than the default rates.
    void scale() {
        const double by = median_ratio(
            [](const Tile& tile) { return !tile.on_units && !tile.wide && !tile.multiplies_float16(); });
        parameters_.float32_rate *= by;
        parameters_.wide_rate *= by;
        parameters_.float16_rate *= by;
        parameters_.cache_bandwidth *= by;
        parameters_.slice_latency /= by;
        parameters_.group_seconds /= by;
        parameters_.wide_rate *= median_ratio([](const Tile& tile) { return tile.wide && !tile.on_units; });
        parameters_.float16_rate *= median_ratio([](const Tile& tile) { return tile.multiplies_float16(); });
        parameters_.unit_rate *= median_ratio([](const Tile& tile) { return tile.on_units; });
    }

    /// Counts only the time that is measured, not the time to compile.
    bool has_time() const { return spent_ < budget; }
    double timed(const std::function<void()>& queue) {
        queue();
        stream_->synchronize(); // compiles the pipeline, and the driver provides the memory
        const auto begin = std::chrono::steady_clock::now();
        runtime::device_seconds(*stream_, queue, warm_up_seconds); // It idled while the host compiled.
        const double seconds = median_seconds(*stream_, queue);
        spent_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        return seconds;
    }

    void measure_product(const MeasuredProduct& measured) {
        std::vector<Tile> tiles = unit_product_tiles(parameters_, measured.type);
        if (tiles.empty())
            tiles = product_tiles(parameters_, measured.type);
        const auto found = std::ranges::find_if(tiles, [&](const Tile& tile) {
            return tile.rows == measured.tile_rows && tile.columns == measured.tile_columns &&
                   tile.wide == measured.wide;
        });
        if (found == tiles.end() || !has_time())
            return;
        if (measured.type != ElementType::float32 && !found->on_units && !found->multiplies_float16())
            return; // a float32 kernel that converts 16-bit numbers; its speed is not used
        Product product{.type = measured.type,
                        .dtype = dtype_of(measured.type),
                        .result_dtype = dtype_of(ElementType::float32),
                        .element_bytes = bytes_of(measured.type),
                        .alpha = std::bit_cast<std::uint32_t>(1.0f)};
        const std::int64_t k = measured.k, m = found->rows * measured.groups_per_unit;
        // As many columns as there are compute units, if the memory suffices.
        const std::int64_t most =
            static_cast<std::int64_t>(second_.bytes()) / (k * product.element_bytes) / found->columns;
        const std::int64_t columns = std::min<std::int64_t>(parameters_.compute_units, most);
        const std::int64_t n = found->columns * columns;
        if (columns == 0 || m * n * 4 > static_cast<std::int64_t>(third_.bytes()) ||
            m * k * product.element_bytes > static_cast<std::int64_t>(first_.bytes()))
            return;
        product.a = {first_.pointer().address, m, k, k, 1, 0};
        product.b = {second_.pointer().address, k, n, n, 1, 0};
        product.c = {third_.pointer().address, m, n, n, 1, 0};
        const Plan plan{*found, 1, k};
        const double seconds = timed([&] {
            queue_product(device_, *stream_, product, plan,
                          {runtime::reads(first_), runtime::reads(second_), runtime::writes(third_), {}});
        });
        samples_.push_back({product.shape(), plan, seconds});
    }

    /// Measures launches that each wait for the one before.
    void measure_launch() {
        constexpr std::int64_t n = 64;
        const Product product{.type = ElementType::float32,
                              .dtype = dtype_of(ElementType::float32),
                              .result_dtype = dtype_of(ElementType::float32),
                              .element_bytes = 4,
                              .c = {third_.pointer().address, 1, n, n, 1, 0},
                              .alpha = std::bit_cast<std::uint32_t>(1.0f)};
        const std::array used{runtime::writes(third_)};
        parameters_.launch_seconds = timed([&] {
            combine(product, {first_.pointer().address, 1, n, n, n}, [&](const Launch& launch) {
                stream_->launch(launch.kernel, launch.groups, launch.parameters, used, launch.constants);
            });
        });
    }

    runtime::Device& device_;
    std::unique_ptr<runtime::Stream> stream_;
    DeviceParameters parameters_;
    runtime::Buffer first_, second_, third_;
    std::vector<Sample> samples_;
    double spent_ = 0;
};

void say(const runtime::LogCallback& log, LogLevel level, const std::string& text) {
    if (log)
        log(level, text);
}

DeviceParameters stored_or_default(runtime::Device& device, const DeviceParameters& usual,
                                   runtime::TuningStore& store, const runtime::LogCallback& log) {
    try {
        // If the rates cannot be stored, the defaults are better: otherwise each process would measure its
        // own rates, and two processes might split k differently.
        const std::string text =
            store.find_or_make(store_key, [&] { return rates_text(measure_rates(device.info(), usual)); });
        DeviceParameters measured = usual;
        if (!read_rates(measured, text))
            throw runtime::Error("the stored rates cannot be read: " + text);
        return measured;
    } catch (const runtime::DeviceLost&) {
        throw;
    } catch (const runtime::Error& error) {
        say(log, LogLevel::warning,
            "calibrating " + device.info().name +
                " failed, so plans follow from default rates: " + error.what());
    }
    return usual;
}

} // namespace

std::string implausible(const DeviceParameters& measured, double misfit) {
    for (const Rate& rate : rates)
        if (const double value = measured.*rate.value; !(value >= rate.least && value <= rate.most)) {
            std::ostringstream text;
            text << rate.name << " would be " << value;
            return text.str();
        }
    if (!(misfit <= worst_misfit))
        return "the measured times contradict each other";
    return {};
}

DeviceParameters measure_rates(const runtime::DeviceInfo& device, const DeviceParameters& start) {
    runtime::DeviceOptions options;
    options.self_test = false; // start.usable has its result
    const std::shared_ptr<runtime::Device> opened = runtime::Device::open(device, options);
    Calibration calibration(*opened, start);
    const DeviceParameters measured = calibration.measure();
    if (const std::string why = implausible(measured, misfit(measured, calibration.samples())); !why.empty())
        throw runtime::Error(why);
    return measured;
}

DeviceParameters calibrated_parameters(runtime::Device& device, const runtime::LogCallback& log) {
    const bool is_cpu = device.info().type == runtime::DeviceType::cpu;
    DeviceParameters parameters = default_parameters(device.info(), device.usable_features());
    const std::filesystem::path folder = runtime::default_cache_folder();
    if (switched_on("REKINDLE_CALIBRATE", !is_cpu) && !folder.empty()) {
        runtime::TuningStore store(device.info(), folder);
        if (const std::string problem = store.problem(); !problem.empty())
            say(log, LogLevel::warning, problem + "; measuring again");
        parameters = stored_or_default(device, parameters, store, log);
    }
    say(log, LogLevel::info, "parameters of " + device.info().name + ": " + text_of(parameters));
    return parameters;
}

} // namespace rekindle::products
