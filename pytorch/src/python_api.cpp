#include "python_api.h"

#include "build_version.h"
#include "device/generator.h"
#include "dispatch/cuda_devices.h"
#include "dispatch/fallback.h"

#include <rekindle/products/unit_attention.h>
#include <rekindle/runtime/self_test.h>

#include <ATen/core/Dict.h>
#include <algorithm>
#include <c10/util/Exception.h>
#include <limits>
#include <string>
#include <torch/library.h>

namespace rvk {

namespace products = rekindle::products;

namespace {

DeviceIndex checked_index(std::int64_t number) {
    TORCH_CHECK_INDEX(number >= 0 && number <= std::numeric_limits<DeviceIndex>::max(),
                      "There is no device rvk:", number, ".");
    const auto index = static_cast<DeviceIndex>(number);
    device_info(index); // the error says which devices there are
    return index;
}

std::uint64_t local_bytes(const runtime::Capabilities& can) {
    std::uint64_t bytes = 0;
    for (const auto& heap : can.heaps)
        if (heap.device_local)
            bytes = std::max(bytes, heap.bytes);
    return bytes;
}

// Packed as by VK_MAKE_API_VERSION.
std::uint32_t major_of(std::uint32_t version) {
    return (version >> 22) & 0x7f;
}
std::uint32_t minor_of(std::uint32_t version) {
    return (version >> 12) & 0x3ff;
}
std::uint32_t patch_of(std::uint32_t version) {
    return version & 0xfff;
}

std::string text(bool value) {
    return value ? "1" : "0";
}

template <class To, class From>
c10::Dict<std::string, To> to_dict(const From& pairs) {
    c10::Dict<std::string, To> dict;
    for (const auto& [name, value] : pairs)
        dict.insert(name, static_cast<To>(value));
    return dict;
}

std::string outcome_text(const runtime::SelfTestRow& row) {
    using Outcome = runtime::SelfTestRow::Outcome;
    switch (row.outcome) {
    case Outcome::passed:
        return "passed";
    case Outcome::failed:
        return "failed: " + row.detail;
    case Outcome::unsupported:
        return "unsupported: " + row.detail;
    case Outcome::absent:
        return "absent: " + row.detail;
    }
    return {};
}

/// Does not enumerate the devices, because programs ask this before they fork, and torch_rvk asks when a
/// process ends.
bool any_open() {
    if (!has_enumerated_devices() || is_forked())
        return false;
    for (DeviceIndex index = 0; index < device_count(); ++index)
        if (is_open(index))
            return true;
    return false;
}

/// The 16-bit dtypes for which `uses` is true if the device's features work as its driver claims, separated
/// by spaces.
template <class Uses>
std::string dtypes_that(const runtime::DeviceInfo& info, const Uses& uses) {
    const products::DeviceParameters claimed = products::default_parameters(info, info.can.features);
    std::string dtypes;
    for (const auto type : {products::ElementType::float16, products::ElementType::bfloat16})
        if (uses(claimed, type))
            dtypes += (dtypes.empty() ? "" : " ") + std::string(products::name(type));
    return dtypes;
}

} // namespace

std::map<std::string, std::string> device_properties(DeviceIndex index) {
    const runtime::DeviceInfo& info = device_info(index);
    const auto version = info.api_version;
    const auto has = [&](kernels::Feature feature) { return text(info.can.features.contains(feature)); };
    return {
        {"name", info.name},
        {"total_memory", std::to_string(local_bytes(info.can))},
        {"vendor_id", std::to_string(info.vendor_id)},
        {"device_id", std::to_string(info.device_id)},
        {"driver", info.driver_name + " " + info.driver_info},
        {"api_version", std::to_string(major_of(version)) + "." + std::to_string(minor_of(version)) + "." +
                            std::to_string(patch_of(version))},
        {"major", std::to_string(major_of(version))},
        {"minor", std::to_string(minor_of(version))},
        {"multi_processor_count", std::to_string(info.can.compute_units)},
        {"warp_size", std::to_string(info.can.default_subgroup)},
        {"max_threads_per_block", std::to_string(info.can.maximum_threads)},
        {"shared_memory_per_block", std::to_string(info.can.shared_bytes)},
        {"has_float64", has(kernels::Feature::float64)},
        {"has_float16_arithmetic", has(kernels::Feature::float16_arithmetic)},
        {"matrix_units", dtypes_that(info, products::has_matrix_units)},
        {"matrix_attention",
         dtypes_that(info,
                     [](const products::DeviceParameters& device, products::ElementType type) {
                         return products::unit_attention(device, type, 64).has_value();
                     })},
        {"is_integrated", text(info.type == runtime::DeviceType::integrated)},
        {"is_cpu", text(info.type == runtime::DeviceType::cpu)},
        {"uuid", info.uuid_text()},
        {"pci_address", info.pci_address},
    };
}

std::vector<std::pair<std::string, std::string>> self_test(DeviceIndex index) {
    std::vector<std::pair<std::string, std::string>> rows;
    for (const runtime::SelfTestRow& row : runtime::run_self_test(device(index)).rows)
        rows.emplace_back(row.name, outcome_text(row));
    return rows;
}

} // namespace rvk

TORCH_LIBRARY(rvk, m) {
    m.def("version() -> str", [] { return std::string(RVK_VERSION); });
    m.def("torch_version() -> str", [] { return std::string(RVK_TORCH_VERSION); });
    m.def("device_count() -> int", [] { return static_cast<std::int64_t>(rvk::device_count()); });
    m.def("is_initialized() -> bool", &rvk::any_open);
    m.def("is_forked() -> bool", [] { return rvk::is_forked(); });
    m.def("why_no_device() -> str", [] { return rvk::why_no_device(); });
    m.def("device_properties(int device) -> Dict(str, str)", [](std::int64_t device) {
        return rvk::to_dict<std::string>(rvk::device_properties(rvk::checked_index(device)));
    });
    m.def("self_test(int device) -> Dict(str, str)", [](std::int64_t device) {
        return rvk::to_dict<std::string>(rvk::self_test(rvk::checked_index(device)));
    });
    m.def("default_generator(int device) -> Generator?",
          [](std::int64_t device) { return rvk::default_generator(rvk::checked_index(device)); });
    m.def("manual_seed(int seed) -> ()",
          [](std::int64_t seed) { rvk::seed_current_device(static_cast<std::uint64_t>(seed)); });
    m.def("manual_seed_all(int seed) -> ()",
          [](std::int64_t seed) { rvk::seed_all_devices(static_cast<std::uint64_t>(seed)); });
    m.def("fallback_stats() -> Dict(str, int)",
          [] { return rvk::to_dict<std::int64_t>(rvk::fallback_counts()); });
    m.def("reset_fallback_stats() -> ()", [] { rvk::reset_fallback_counts(); });
    m.def("map_cuda_devices() -> ()", [] { rvk::map_cuda_devices(); });
    m.def("finish() -> ()", [] { rvk::finish_process(); });
}
