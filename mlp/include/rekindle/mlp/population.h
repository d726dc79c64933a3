#pragma once
/// Many networks of one description, trained together: one per seed, fold or setting. A single network is a
/// population of one. The contract is the same on the CPU (one Engine per member) and on a GPU (one workgroup
/// per member).

#include <rekindle/mlp/engine.h>
#include <rekindle/mlp/model.h>
#include <rekindle/mlp/training.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::runtime {
class Device;
}

namespace rekindle::mlp {

/// Rows that a population reads, stored where its device can reach them. Made by Population::prepare.
class SampleSet {
  public:
    virtual ~SampleSet() = default;
    virtual std::size_t count() const = 0;
};

/// The rows that each member trains on in one call, in order: orders[m], or orders[0] for every member if
/// there is only one. Lengths may differ. Does not own them.
using RowOrders = std::span<const std::span<const std::uint32_t>>;

/// Not thread-safe. Member m behaves, up to rounding, like an Engine with the same TrainingSpec and orders;
/// on a given device its bits do not depend on the other members.
class Population {
  public:
    virtual ~Population() = default;

    virtual const ModelDescription& model() const noexcept = 0;
    virtual std::size_t size() const noexcept = 0;
    /// Members may differ in the seed, the dropout rates, every number of the optimizer and the schedule, and
    /// the values of clip_norm and ema_decay. Loss, optimizer kind, accumulation_steps, bf16_storage, and
    /// whether clipping and averaging are on must be the same for all.
    virtual const TrainingSpec& training(std::size_t member) const = 0;
    /// "cpu (x86-64-v4)", "gpu:0 NVIDIA H200 (latency)", "gpu:0 … + gpu:1 …".
    virtual std::string device() const = 0;

    /// Initializes every member from its seed, like Engine::initialize.
    virtual void initialize() = 0;
    virtual void set_parameters(std::size_t member, std::span<const NamedTensor> tensors) = 0;
    virtual std::vector<NamedTensor> parameters(std::size_t member) const = 0;
    virtual std::vector<NamedTensor> evaluation_parameters(std::size_t member) const = 0;
    virtual std::vector<NamedTensor> optimizer_tensors(std::size_t member, std::string_view moment) const = 0;

    /// Keeps rows for later calls: copies them or, on the CPU, refers to them if they have an owner. Rows
    /// that it refers to must not change while the set exists.
    virtual std::unique_ptr<SampleSet> prepare(const Samples& samples) = 0;

    /// Like Engine::train, for every member; one result per member. Members with an empty order do nothing.
    virtual std::vector<TrainResult> train(const SampleSet& samples, RowOrders orders,
                                           std::size_t batch_size) = 0;
    virtual void finish_accumulation() = 0;
    /// One loss per member; NaN leaves its member's schedule unchanged.
    virtual void report_validation_losses(std::span<const double> losses) = 0;

    /// Sum of the loss over rows [first, first + count) per member, in evaluation mode.
    virtual std::vector<double> evaluate(const SampleSet& samples, std::size_t first,
                                         std::size_t count) const = 0;
    /// Raw outputs of rows [first, first + count) of one member: count * outputs() floats.
    virtual void predict(std::size_t member, const SampleSet& samples, std::size_t first, std::size_t count,
                         std::span<float> outputs) const = 0;
    /// The same for members [first_member, first_member + members), one member's outputs after the other's.
    /// On a device that works on many members in parallel, this is faster than one call per member.
    virtual void predict_members(std::size_t first_member, std::size_t members, const SampleSet& samples,
                                 std::size_t first, std::size_t count, std::span<float> outputs) const {
        const std::size_t each = count * model().outputs();
        for (std::size_t m = 0; m < members; ++m)
            predict(first_member + m, samples, first, count, outputs.subspan(m * each, each));
    }
    /// Like Engine::gradients.
    virtual std::vector<NamedTensor> gradients(std::size_t member, const SampleSet& samples,
                                               std::span<const std::uint32_t> rows) const = 0;

    virtual std::uint64_t steps(std::size_t member) const = 0;
    virtual std::uint64_t batches(std::size_t member) const = 0;
    virtual double learning_rate(std::size_t member) const = 0;
    /// The bytes of Engine::save: a state saved on one device can be continued on another.
    virtual EngineState save(std::size_t member) const = 0;
    virtual void restore(std::size_t member, const EngineState& state) = 0;

    /// A new population of the first min(members, size()) members (at least one; a joined one keeps each
    /// part's share), on the same device and with the same arrangement, not initialized. Used for
    /// measurements.
    virtual std::unique_ptr<Population> scratch(std::size_t members) const = 0;
};

/// Throws Error (usage) when the members do not match each other or the model. threads: for all members
/// together; 0 means as many as this process has CPUs; the bits do not depend on it.
std::unique_ptr<Population> cpu_population(ModelDescription model, std::vector<TrainingSpec> members,
                                           std::size_t threads);

/// How a GPU population arranges its workgroups. The two arrangements sum in different orders, so their
/// results differ by rounding.
enum class GpuShape {
    /// latency for fewer members than twice the device's compute units, otherwise throughput. If the driver
    /// does not report their number, it is taken as 64 for a discrete or virtual device, 8 for a CPU and 12
    /// for others. Chosen without measuring, so that the same run gives the same bits.
    automatic,
    latency,    ///< many threads per network
    throughput, ///< few threads per network, many networks per compute unit
};

/// One workgroup per member. Throws Error (usage) naming the reason when this device cannot train the
/// description: a layer wider than 512, more stages than the kernels support, bf16_storage.
std::unique_ptr<Population> gpu_population(std::shared_ptr<runtime::Device> device, ModelDescription model,
                                           std::vector<TrainingSpec> members,
                                           GpuShape shape = GpuShape::automatic);
/// Why gpu_population would refuse, or "".
std::string gpu_refusal(const runtime::Device& device, const ModelDescription& model,
                        std::span<const TrainingSpec> members);

/// One population whose members are those of its parts, in order. Owns the parts; each trains in its own
/// thread.
struct PopulationPart {
    std::size_t members;
    std::unique_ptr<Population> population; ///< with exactly these members
};
std::unique_ptr<Population> joined_population(std::vector<PopulationPart> parts);

/// Network-steps per second of a population on its own device: trains copies of the first members for about
/// `seconds` on random rows of batch_size; the population's state is not changed.
struct SpeedMeasurement {
    double network_steps_per_second = 0;
    double seconds_per_step = 0; ///< one step of all members
};
SpeedMeasurement measure_speed(Population& population, std::size_t batch_size, double seconds = 0.05);

} // namespace rekindle::mlp
