#include <rekindle/products/calibration.h>
#include <rekindle/products/planner.h>

#include <array>
#include <atomic>
#include <utility>
#include <vector>

namespace rekindle::products {

namespace {

std::size_t hash_of(std::initializer_list<std::int64_t> numbers) {
    std::size_t hash = 0;
    for (const std::int64_t number : numbers)
        hash = (hash ^ static_cast<std::size_t>(number)) * 0x9e3779b97f4a7c15;
    return hash >> 32;
}
std::size_t hash_of(const ProductShape& s) {
    return hash_of({static_cast<std::int64_t>(s.type), s.m, s.n, s.k, s.batch,
                    (s.a_aligned ? 1 : 0) + (s.b_aligned ? 2 : 0)});
}
std::size_t hash_of(const ConvolutionShape& s) {
    return hash_of({static_cast<std::int64_t>(s.type), static_cast<std::int64_t>(s.pass), s.m, s.n, s.k,
                    s.groups, s.channels, s.taps});
}

/// Returns what `find` returns for the shape, and remembers the calling thread's latest results. Use: a type
/// that names the question; each has a table of its own.
template <class Use, class Shape, class F>
auto remembered(std::uint64_t planner, const Shape& shape, F&& find) {
    struct Entry {
        std::uint64_t planner = 0;
        Shape shape;
        decltype(find()) answer;
    };
    thread_local std::array<Entry, 256> table;
    Entry& entry = table[hash_of(shape) % table.size()];
    if (entry.planner != planner || !(entry.shape == shape))
        entry = {planner, shape, find()};
    return entry.answer;
}

std::uint64_t next_number() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
}

/// A convolution and the bytes that matrix units need to move first.
struct MovedConvolution {
    ConvolutionShape shape;
    double moved_bytes = 0;

    friend bool operator==(const MovedConvolution&, const MovedConvolution&) = default;
};
std::size_t hash_of(const MovedConvolution& one) {
    return hash_of(one.shape) ^ static_cast<std::size_t>(one.moved_bytes);
}

} // namespace

Planner::Planner(const DeviceParameters& device) : device_(device), number_(next_number()) {}

Planner Planner::calibrated(runtime::Device& device, const runtime::LogCallback& log) {
    return Planner(calibrated_parameters(device, log));
}

Plan Planner::plan(const ProductShape& shape) const {
    struct Use;
    return remembered<Use>(number_, shape,
                           [&] { return fastest_plan(device_, shape, possible_plans(device_, shape)); });
}

Plan Planner::plan(const ConvolutionShape& shape) const {
    struct Use;
    return remembered<Use>(number_, shape,
                           [&] { return fastest_plan(device_, shape, possible_plans(device_, shape)); });
}

std::optional<Plan> Planner::unit_plan(const ConvolutionShape& shape) const {
    struct Use;
    return remembered<Use>(number_, shape, [&]() -> std::optional<Plan> {
        const std::vector<Plan> plans = possible_unit_plans(device_, shape);
        return plans.empty() ? std::nullopt : std::optional(fastest_plan(device_, shape, plans));
    });
}

bool Planner::units_are_faster(const ConvolutionShape& shape, double moved_bytes) const {
    struct Use;
    return remembered<Use>(number_, MovedConvolution{shape, moved_bytes},
                           [&] { return products::units_are_faster(device_, shape, moved_bytes); });
}

std::vector<Plan> plans_to_try(const Plan& plan, std::vector<Plan> possible) {
    std::erase_if(possible, [&](const Plan& other) { return other.name() == plan.name(); });
    possible.insert(possible.begin(), plan);
    return possible;
}

std::vector<Plan> plans_to_try(const DeviceParameters& device, const ProductShape& shape, const Plan& plan) {
    std::vector<Plan> possible = possible_plans(device, shape);
    std::erase_if(possible, [&](const Plan& other) { return !is_one_launch(shape, other.tile); });
    return plans_to_try(plan, std::move(possible));
}

} // namespace rekindle::products
