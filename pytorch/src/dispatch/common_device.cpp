#include "common_device.h"

#include "../device/allocator.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <algorithm>
#include <c10/util/Exception.h>
#include <rvk/without_device_check.h>
#include <string>

namespace rvk {

namespace {

/// "aten::add.Tensor" for "add.Tensor".
const c10::FunctionSchema* schema_of(std::string_view name) {
    const auto dot = name.find('.');
    const std::string base = "aten::" + std::string(name.substr(0, dot));
    const std::string overload(dot == std::string_view::npos ? "" : name.substr(dot + 1));
    const auto op = c10::Dispatcher::singleton().findSchema({base, overload});
    return op ? &op->schema() : nullptr;
}

/// Whether CUDA's kernels accept this argument from the CPU: they move indices to the device, and read
/// targets and lengths on the CPU.
bool may_be_on_cpu(std::string_view name, const c10::Argument& argument, const c10::IValue& value) {
    if (value.isOptionalTensorList())
        return name.find("index") != std::string_view::npos;
    // The sizes of a nested tensor's parts are always on the CPU.
    if (name.starts_with("_nested_from_padded") || name.starts_with("_nested_view_from_buffer"))
        return argument.name() == "cpu_nested_shape_example" || argument.name() == "nested_size" ||
               argument.name() == "nested_strides" || argument.name() == "offsets";
    const bool ctc = name.find("ctc_loss") != std::string_view::npos;
    return ctc && (argument.name() == "targets" || argument.name().ends_with("_lengths"));
}

template <class F>
void for_each_tensor(const c10::IValue& value, F&& f) {
    if (value.isTensor())
        f(value.toTensor());
    else if (value.isTensorList())
        for (const at::Tensor& tensor : value.toTensorVector())
            f(tensor);
    else if (value.isOptionalTensorList())
        for (const auto& tensor : value.toOptionalTensorVector())
            f(tensor.value_or(at::Tensor()));
}

} // namespace

bool has_device_check(std::string_view name) {
    return !std::ranges::binary_search(without_device_check, name);
}

std::uint64_t written_arguments(std::string_view name) {
    const c10::FunctionSchema* const schema = schema_of(name);
    if (!schema)
        return 0;
    const bool batch_norm =
        name.starts_with("native_batch_norm") && !name.starts_with("native_batch_norm_backward");
    std::uint64_t written = 0;
    for (std::size_t i = 0; i < schema->arguments().size(); ++i) {
        const c10::Argument& argument = schema->arguments()[i];
        // This schema predates alias annotations and does not say that the operator updates the running
        // statistics.
        const bool running = batch_norm && argument.name().starts_with("running_");
        if (running || (argument.alias_info() && argument.alias_info()->isWrite()))
            written |= std::uint64_t{1} << i;
    }
    return written;
}

void unshare_memory_of(const at::Tensor& tensor) {
    unshare(tensor);
}
void unshare_memory_of(const std::optional<at::Tensor>& tensor) {
    if (tensor)
        unshare_memory_of(*tensor);
}
void unshare_memory_of(at::TensorList tensors) {
    for (const at::Tensor& tensor : tensors)
        unshare_memory_of(tensor);
}

void report_two_devices(c10::Device first, c10::Device second, std::string_view operator_name,
                        std::string_view argument) {
    std::string where;
    if (!argument.empty())
        where = "argument '" + std::string(argument) + "' of ";
    where += operator_name;
    TORCH_CHECK(false, "Expected all tensors to be on the same device, but found at least two devices, ",
                first, " and ", second, "!", where.empty() ? "" : " (", where, where.empty() ? "" : ")");
}

void RegisteredOperator::report(const CommonDevice& devices) const {
    const c10::FunctionSchema* const schema = schema_of(name_);
    const bool known = schema && devices.position() < schema->arguments().size();
    report_two_devices(devices.first(), devices.second(), "aten::" + std::string(name_),
                       known ? schema->arguments()[devices.position()].name() : std::string());
}

void check_devices(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments) {
    const std::string full = c10::toString(op.operator_name());
    constexpr std::string_view aten = "aten::";
    const bool of_pytorch = full.starts_with(aten);
    const std::string_view name = std::string_view(full).substr(of_pytorch ? aten.size() : 0);
    const bool strict = of_pytorch && has_device_check(name);
    CommonDevice devices;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const c10::Argument& argument = op.schema().arguments()[i];
        const bool from_cpu = !strict && may_be_on_cpu(name, argument, arguments[i]);
        for_each_tensor(arguments[i], [&](const at::Tensor& tensor) {
            const bool number = !strict && tensor.defined() && tensor.dim() == 0;
            if (tensor.defined() && tensor.is_cpu() && (number || from_cpu))
                return;
            devices.see(tensor);
            if (devices.is_mixed())
                report_two_devices(devices.first(), devices.second(), full, argument.name());
        });
    }
}

} // namespace rvk
