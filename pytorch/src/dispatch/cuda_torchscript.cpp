#include "cuda_torchscript.h"

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>
#include <algorithm>
#include <memory>
#include <torch/csrc/jit/runtime/operator.h>
#include <vector>

namespace rvk {

namespace {

using torch::jit::Operator;

bool has_device(const c10::FunctionSchema& schema) {
    return std::ranges::any_of(schema.arguments(), [](const c10::Argument& argument) {
        return argument.type()->isSubtypeOf(*c10::OptionalType::create(c10::DeviceObjType::get()));
    });
}

/// Whether the operator compares devices. Comparisons still distinguish CUDA and rvk, as in Python.
bool compares(const c10::FunctionSchema& schema) {
    return schema.name() == "aten::eq" || schema.name() == "aten::ne";
}

void map_devices(torch::jit::Stack& stack, std::size_t arguments) {
    for (std::size_t i = stack.size() - arguments; i < stack.size(); ++i)
        if (stack[i].isDevice() && stack[i].toDevice().is_cuda())
            stack[i] = c10::Device(c10::kPrivateUse1, stack[i].toDevice().index());
}

void replace(const std::shared_ptr<Operator>& original) {
    const c10::FunctionSchema& schema = original->schema();
    const auto call = [original](torch::jit::Stack& stack) {
        map_devices(stack, original->schema().arguments().size());
        original->getOperation()(stack);
    };
    torch::jit::deregisterOperator(schema);
    torch::jit::registerOperator(Operator(schema.name(), schema.overload_name(), schema.arguments(),
                                          schema.returns(), call, original->aliasAnalysisKind()));
}

} // namespace

void map_cuda_devices_in_torchscript() {
    for (const auto& op : torch::jit::getAllOperators())
        if (!op->isC10Op() && has_device(op->schema()) && !compares(op->schema()))
            replace(op);
}

} // namespace rvk
