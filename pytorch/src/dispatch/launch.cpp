#include "launch.h"

#include "../device/allocator.h"
#include "../device/dtypes.h"
#include "../device/operator_scope.h"
#include "common_device.h"
#include "limits.h"

#include <rekindle/kernels/ceil_div.h>

#include <algorithm>
#include <c10/core/impl/COW.h>
#include <c10/util/Exception.h>
#include <c10/util/SmallVector.h>
#include <cstring>
#include <unordered_map>
#include <utility>

namespace rvk {

namespace {

using kernels::ConstantValue;

std::uint64_t span_of(at::IntArrayRef sizes, at::IntArrayRef strides, std::uint64_t element_bytes) {
    std::uint64_t last = 0;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
        if (sizes[d] == 0)
            return 0;
        last += static_cast<std::uint64_t>(sizes[d] - 1) * static_cast<std::uint64_t>(strides[d]);
    }
    return (last + 1) * element_bytes;
}

/// The address of a tensor's memory. Throws if the tensor is not on a device of this kind.
std::uint64_t checked_address(c10::Device device, const void* data) {
    if (!device.is_privateuseone()) [[unlikely]]
        report_two_devices(c10::Device(c10::kPrivateUse1, current_device()), device, running_operator());
    return reinterpret_cast<std::uint64_t>(data);
}

Access access_of(const at::TensorBase& tensor, bool writes) {
    const bool is_shared =
        tensor.has_storage() && c10::impl::cow::is_cow_data_ptr(tensor.storage().data_ptr());
    return {{{address(tensor)}, span_of(tensor.sizes(), tensor.strides(), tensor.element_size()), writes},
            tensor.device().index(),
            is_shared};
}

Access access_of(const at::TensorIteratorBase& iterator, int operand, bool writes) {
    const auto shape = iterator.shape();
    const auto strides = iterator.strides(operand); // in bytes
    std::uint64_t last = 0;
    for (std::size_t d = 0; d < shape.size(); ++d)
        last += static_cast<std::uint64_t>(shape[d] - 1) * static_cast<std::uint64_t>(strides[d]);
    return {{{address(iterator, operand)}, last + iterator.element_size(operand), writes},
            iterator.device(operand).index()};
}

/// A kernel (kernels are static data, so its address identifies it) with a value for each of its constants.
struct PipelineKey {
    DeviceIndex device;
    const kernels::Kernel* kernel;
    c10::SmallVector<std::uint32_t, 16> values;

    bool operator==(const PipelineKey&) const = default;
};

struct PipelineKeyHash {
    std::size_t operator()(const PipelineKey& key) const noexcept {
        std::uint64_t hash =
            reinterpret_cast<std::uintptr_t>(key.kernel) ^ static_cast<std::uint64_t>(key.device);
        for (const std::uint32_t value : key.values)
            hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
        return hash ^ (hash >> 32);
    }
};

/// Throws unless the constants have the kernel's names: the key has only their values.
void check_names(const kernels::Kernel& kernel, std::span<const ConstantValue> constants) {
    TORCH_INTERNAL_ASSERT(std::ranges::equal(kernel.constants, constants, {},
                                             &kernels::SpecializationConstant::name, &ConstantValue::name),
                          "launch of ", kernel.name, " with the constants of another family");
}

void check_dtypes(std::span<const ConstantValue> constants) {
    for (const ConstantValue& constant : constants) {
        const bool is_dtype =
            constant.name.find("dtype") != constant.name.npos || constant.name.ends_with("_type");
        const auto dtype = static_cast<at::ScalarType>(constant.value);
        TORCH_CHECK_NOT_IMPLEMENTED(!is_dtype || is_known_to_kernels(dtype), "a kernel for elements of ",
                                    dtype);
    }
}

/// Device::request looks pipelines up by the text of all names, under a lock that all threads share. Each
/// thread remembers the pipelines that it got, so that a repeated launch compares only numbers, takes no lock
/// and checks neither names nor dtypes.
const runtime::Pipeline& prepared(DeviceIndex index, const kernels::Kernel& kernel,
                                  std::span<const ConstantValue> constants) {
    PipelineKey key{index, &kernel, {}};
    for (const ConstantValue& constant : constants)
        key.values.push_back(constant.value);
    thread_local std::unordered_map<PipelineKey, const runtime::Pipeline*, PipelineKeyHash> known;
    if (const auto found = known.find(key); found != known.end())
        return *found->second;
    check_names(kernel, constants);
    check_dtypes(constants);
    try {
        const runtime::Pipeline& made = device(index).request(kernel, constants);
        known.emplace(std::move(key), &made);
        return made;
    } catch (const runtime::Unsupported& error) {
        TORCH_CHECK_NOT_IMPLEMENTED(false, error.what());
    }
}

} // namespace

std::uint64_t address(const at::TensorBase& tensor) {
    return checked_address(tensor.device(), tensor.const_data_ptr());
}
std::uint64_t address(const at::TensorIteratorBase& iterator, int operand) {
    return checked_address(iterator.device(operand), iterator.data_ptr(operand));
}
std::uint64_t raw_address(const at::TensorBase& tensor) {
    return runtime::raw_address({address(tensor)});
}

Access reads(const at::TensorBase& tensor) {
    return access_of(tensor, false);
}
Access writes(const at::TensorBase& tensor) {
    return access_of(tensor, true);
}
Access reads(const at::TensorIteratorBase& iterator, int operand) {
    return access_of(iterator, operand, false);
}
Access writes(const at::TensorIteratorBase& iterator, int operand) {
    return access_of(iterator, operand, true);
}

Groups linear_groups(std::int64_t count, std::uint32_t per_group) {
    const std::int64_t groups = kernels::ceil_div(count, per_group);
    if (groups <= groups_per_row)
        return {static_cast<std::uint32_t>(groups), 1, 1};
    const std::int64_t rows = kernels::ceil_div(groups, groups_per_row);
    TORCH_CHECK(rows <= most_groups, "a launch of ", count, " items exceeds the limits of the device");
    return {static_cast<std::uint32_t>(groups_per_row), static_cast<std::uint32_t>(rows), 1};
}

void launch(DeviceIndex index, const kernels::Kernel& kernel, Groups groups,
            std::span<const std::byte> parameters, std::span<const Access> accesses,
            std::span<const kernels::ConstantValue> constants) {
    c10::SmallVector<runtime::Access, 16> bytes;
    for (const Access& access : accesses) {
        if (access.bytes != 0 && access.device != index) [[unlikely]]
            report_two_devices(c10::Device(c10::kPrivateUse1, index),
                               c10::Device(c10::kPrivateUse1, access.device), running_operator());
        TORCH_INTERNAL_ASSERT(!access.writes || !access.is_shared, running_operator(),
                              " writes to memory that a deferred copy shares");
        bytes.push_back(access);
    }
    current_stream(index).launch(prepared(index, kernel, constants), groups, parameters, bytes);
}

UploadedBlock::UploadedBlock(DeviceIndex index, std::span<const std::byte> bytes)
    : memory_(current_stream(index).transient(bytes.size())) {
    std::memcpy(memory_.host.data(), bytes.data(), bytes.size());
}

bool has_float64(DeviceIndex index) {
    return device(index).usable_features().contains(kernels::Feature::float64);
}
void require_float64(c10::ScalarType type, c10::Device device) {
    if (type == at::kDouble || type == at::kComplexDouble)
        TORCH_CHECK_NOT_IMPLEMENTED(has_float64(device.index()), "float64 on ", device,
                                    ", which does not support float64");
}

} // namespace rvk
