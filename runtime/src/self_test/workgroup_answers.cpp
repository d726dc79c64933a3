#include "self_test/known_answer.h"

#include <rekindle/kernels/families/selftest.h>
#include <rekindle/kernels/families/selftest_atomics64.h>
#include <rekindle/kernels/families/selftest_shared.h>
#include <rekindle/kernels/families/selftest_subgroup.h>

#include <algorithm>
#include <map>

namespace rekindle::runtime {

namespace {

using kernels::Feature;

KnownAnswer shared_memory(const char* name, const kernels::Kernel& kernel, std::uint32_t bytes,
                          kernels::Features disables) {
    constexpr std::uint32_t threads = 128, groups = 8, rounds = 4;
    const std::uint32_t words = bytes / 4;
    std::vector<std::uint32_t> expected;
    for (std::uint32_t group = 0; group < groups; ++group)
        for (std::uint32_t thread = 0; thread < threads; ++thread) {
            std::uint32_t sum = 0;
            for (std::uint32_t round = 0; round < rounds; ++round)
                for (std::uint32_t i = thread; i < words; i += threads)
                    sum = sum * 31 + mix(words - 1 - i + round * 65536 + group * 262144);
            expected.push_back(sum);
        }
    return {.name = name,
            .kernel = &kernel,
            .constants = list_of(kernels::SelftestSharedConstants{.shared_words = words}),
            .disables = disables,
            .groups = {groups, 1, 1},
            .count = groups * threads,
            .output = unwritten(expected.size() * sizeof(std::uint32_t)),
            .mistake = must_be<std::uint32_t>(expected, {"sum"})};
}

/// Words 0 to 7 of selftest.slang's atomics(), then each item once, in any order.
KnownAnswer atomics() {
    constexpr std::uint32_t items = 4096, header = 8;
    std::vector<std::uint32_t> before(header + items, 0xa5a5a5a5u);
    const std::vector<std::uint32_t> start{1, 0, 0xffffffffu, 0, 0x12345678u, 0xffffffffu, 0, 0};
    std::ranges::copy(start, before.begin());
    std::vector<std::uint64_t> expected(start.begin(), start.end());
    std::uint32_t sum = start[0];
    for (std::uint32_t i = 0; i < items; ++i) {
        const std::uint32_t value = mix(i);
        sum += value;
        expected[1] = std::max<std::uint64_t>(expected[1], value);
        expected[2] = std::min<std::uint64_t>(expected[2], value);
        expected[3] |= value & 0x55555555u;
        expected[4] ^= value;
        expected[5] &= value | 0xff00ff00u;
    }
    expected[0] = sum;
    expected[6] = 7;
    expected[7] = items;
    for (std::uint32_t i = 0; i < items; ++i)
        expected.push_back(i);
    return {.name = "32-bit atomics",
            .kernel = &kernels::selftest_atomics.kernel,
            .groups = groups_of_64(items),
            .count = items,
            .output = bytes_of(before),
            .mistake = [expected](std::span<const std::byte> output) {
                std::vector<std::uint32_t> found = values_of<std::uint32_t>(output);
                std::sort(found.begin() + header, found.end()); // the items may be handed out in any order
                const char* const names[] = {"word"};
                return mistake_in(std::vector<std::uint64_t>(found.begin(), found.end()), expected, names);
            }};
}

KnownAnswer long_atomics() {
    constexpr std::uint32_t items = 4096;
    std::vector<std::uint64_t> expected{5, 0};
    const std::vector<std::uint64_t> before = expected;
    for (std::uint32_t i = 0; i < items; ++i) {
        const std::uint64_t value = std::uint64_t{mix(i)} << 20 | i;
        expected[0] += value;
        expected[1] = std::max(expected[1], value);
    }
    return {.name = "64-bit atomics",
            .kernel = &kernels::selftest_atomics_64bit.kernel,
            .disables = Feature::int64_atomics,
            .groups = groups_of_64(items),
            .count = items,
            .output = bytes_of(before),
            .mistake = must_be<std::uint64_t>(expected, {"sum", "largest"})};
}

/// The output of one invocation of selftest_subgroup.slang.
struct Lane {
    std::uint32_t size, lane, leader, sum, before, largest, neighbor, mirrored;
};
static_assert(sizeof(Lane) == 32);

/// The driver chooses which invocations form a subgroup; each invocation names its subgroup's first lane.
/// `size`: the expected size, 0 for any. A workgroup is a multiple of every size, so all subgroups are full.
std::string mistake_of_subgroups(std::span<const std::byte> output, std::uint32_t size) {
    constexpr std::uint32_t threads = 128;
    const std::vector<Lane> found = values_of<Lane>(output);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::map<std::uint32_t, std::uint32_t>> subgroups;
    for (std::uint32_t i = 0; i < found.size(); ++i)
        if (!subgroups[{i / threads, found[i].leader}].emplace(found[i].lane, i).second)
            return "invocation " + std::to_string(i) + " has the same lane as another one";
    std::vector<std::uint64_t> is, must_be;
    for (const auto& [leader, lanes] : subgroups) {
        std::uint32_t sum = 0, largest = 0;
        for (const auto& [lane, i] : lanes) {
            sum += mix(i);
            largest = std::max(largest, mix(i));
        }
        const auto members = static_cast<std::uint32_t>(lanes.size());
        std::uint32_t before = 0;
        for (const auto& [lane, i] : lanes) {
            const auto value_at = [&](std::uint32_t other) {
                const auto at = lanes.find(other);
                return at == lanes.end() ? 0u : mix(at->second);
            };
            const Lane& f = found[i];
            is.insert(is.end(), {f.size, f.leader, f.sum, f.before, f.largest, f.neighbor, f.mirrored});
            must_be.insert(must_be.end(),
                           {size == 0 ? members : size, lanes.begin()->second % threads, sum, before, largest,
                            value_at(lane ^ 1), value_at(members - 1 - lane)});
            before += mix(i);
        }
    }
    const char* const names[] = {"size",
                                 "first lane",
                                 "sum",
                                 "sum of earlier lanes",
                                 "largest",
                                 "neighbor's number",
                                 "mirrored lane's number"};
    return mistake_in(is, must_be, names);
}

KnownAnswer subgroups(std::string name, const kernels::Kernel& kernel, std::uint32_t size,
                      kernels::Features disables) {
    constexpr std::uint32_t groups = 4, threads = 128;
    return {
        .name = std::move(name),
        .kernel = &kernel,
        .constants = list_of(kernels::SelftestSubgroupConstants{.subgroup_size = size}),
        .disables = disables,
        .groups = {groups, 1, 1},
        .count = groups * threads,
        .output = unwritten(std::size_t{groups} * threads * sizeof(Lane)),
        .mistake = [size](std::span<const std::byte> output) { return mistake_of_subgroups(output, size); }};
}

} // namespace

void add_workgroup_answers(std::vector<KnownAnswer>& list, const Capabilities& can) {
    list.push_back(shared_memory("shared memory, 32 KiB", kernels::selftest_shared_32k.kernel, 32'768, {}));
    list.push_back(shared_memory("shared memory, 48 KiB", kernels::selftest_shared_48k.kernel, 49'152,
                                 {Feature::shared_48k, Feature::shared_64k}));
    list.push_back(shared_memory("shared memory, 64 KiB", kernels::selftest_shared_64k.kernel, 65'536,
                                 Feature::shared_64k));
    list.push_back(atomics());
    list.push_back(long_atomics());
    list.push_back(
        subgroups("subgroup operations", kernels::selftest_subgroups.kernel, 0,
                  {Feature::subgroup_basic, Feature::subgroup_arithmetic, Feature::subgroup_shuffle,
                   Feature::subgroup_size_control, Feature::cooperative_matrix}));
    for (std::uint32_t size = can.minimum_subgroup; size != 0 && size <= can.maximum_subgroup; size *= 2)
        list.push_back(subgroups("subgroup operations, size " + std::to_string(size),
                                 kernels::selftest_sized_subgroups.kernel, size,
                                 Feature::subgroup_size_control));
}

} // namespace rekindle::runtime
