#include "fallback.h"

#include "../device/generator.h"
#include "../device/log.h"
#include "../device/operator_scope.h"
#include "common_device.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/CPUFallback.h>
#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <torch/library.h>

namespace rvk {

namespace {

class Counts {
  public:
    static Counts& instance() {
        static auto* const counts = new Counts; // operators may run while static objects are being destroyed
        return *counts;
    }
    /// Counts a call. Returns whether it is the operator's first.
    bool add(const std::string& name) {
        const std::lock_guard lock(mutex_);
        return counts_[name]++ == 0;
    }
    std::vector<std::pair<std::string, std::uint64_t>> all() const {
        const std::lock_guard lock(mutex_);
        return {counts_.begin(), counts_.end()};
    }
    void reset() {
        const std::lock_guard lock(mutex_);
        counts_.clear();
    }

  private:
    mutable std::mutex mutex_;
    std::map<std::string, std::uint64_t> counts_;
};

bool is_ours(const at::Tensor& tensor) {
    return tensor.defined() && tensor.is_privateuseone();
}

std::optional<c10::Device> device_of(c10::ArrayRef<c10::IValue> arguments) {
    for (const auto& value : arguments) {
        if (value.isTensor() && is_ours(value.toTensor()))
            return value.toTensor().device();
        if (value.isTensorList())
            for (const at::Tensor& tensor : value.toTensorVector())
                if (is_ours(tensor))
                    return tensor.device();
        if (value.isOptionalTensorList())
            for (const auto& tensor : value.toOptionalTensorVector())
                if (tensor && is_ours(*tensor))
                    return tensor->device();
        if (value.isDevice() && value.toDevice().is_privateuseone())
            return c10::Device(c10::kPrivateUse1, index_of(value.toDevice()));
    }
    return std::nullopt;
}

/// CPU kernels reject a generator of another device, so each of ours is replaced with a CPU generator seeded
/// from it.
void replace_generators(torch::jit::Stack& stack, std::size_t begin, std::optional<c10::Device> device) {
    for (std::size_t i = begin; i < stack.size(); ++i) {
        if (!stack[i].isGenerator())
            continue;
        const at::Generator ours = stack[i].toGenerator();
        if (!ours.defined() || !ours.device().is_privateuseone())
            continue;
        const auto state = reserve_random(ours, device ? device->index() : ours.device().index(), 4);
        auto theirs = at::make_generator<at::CPUGeneratorImpl>();
        theirs.set_current_seed(state.seed ^ (state.offset * 0x9e3779b97f4a7c15ull));
        stack[i] = theirs;
    }
}

/// Moves results to the device: PyTorch leaves them on the device of the first tensor argument, which may be
/// a number on the CPU.
void bring_results_back(const c10::OperatorHandle& op, torch::jit::Stack& stack, c10::Device device) {
    const std::size_t begin = stack.size() - op.schema().returns().size();
    for (std::size_t i = begin; i < stack.size(); ++i) {
        auto& value = stack[i];
        if (value.isTensor() && value.toTensor().defined() && value.toTensor().is_cpu())
            value = value.toTensor().to(device);
    }
}

void say_once(const std::string& name) {
    log_line(
        name +
        " has no kernel for these arguments and runs on the CPU (counted by torch.rvk.fallback_stats())");
}

bool is_view(const c10::FunctionSchema& schema) {
    return std::ranges::any_of(schema.returns(), [](const c10::Argument& result) {
        return result.alias_info() && !result.alias_info()->isWrite();
    });
}

} // namespace

void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    run_on_cpu(op, stack, c10::DispatchKey::CPU);
}

void run_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack, c10::DispatchKey cpu_key) {
    const std::string name = c10::toString(op.operator_name());
    const std::size_t arguments = op.schema().arguments().size();
    const std::size_t begin = stack->size() - arguments;
    check_devices(op, c10::ArrayRef<c10::IValue>(stack->data() + begin, arguments));
    TORCH_CHECK_NOT_IMPLEMENTED(!strict(), "REKINDLE_STRICT=1: ", name,
                                " has no kernel for these arguments on rvk and "
                                "would run on the CPU.");
    if (Counts::instance().add(name))
        say_once(name);
    const AllowCopyToHost allow("the fallback is counted");
    const auto device = device_of(c10::ArrayRef<c10::IValue>(stack->data() + begin, arguments));
    replace_generators(*stack, begin, device);
    at::native::cpu_fallback(op, stack, /*error_on_views=*/true, cpu_key);
    if (device)
        bring_results_back(op, *stack, *device);
}

std::vector<std::pair<std::string, std::uint64_t>> fallback_counts() {
    return Counts::instance().all();
}
void reset_fallback_counts() {
    Counts::instance().reset();
}

int register_directly(c10::DispatchKey key, c10::DispatchKey cpu_key, torch::CppFunction (*make_kernel)()) {
    using c10::DispatchKey;
    const bool dense = key == DispatchKey::PrivateUse1;
    auto* const library = new torch::Library(torch::Library::IMPL, "aten", key, __FILE__, __LINE__);
    auto& dispatcher = c10::Dispatcher::singleton();
    int registered = 0;
    for (const auto& name : dispatcher.getAllOpNames()) {
        if (!name.name.starts_with("aten::"))
            continue;
        const auto op = dispatcher.findOp(name);
        if (!op || op->hasKernelForDispatchKey(key) || !op->hasKernelForDispatchKey(cpu_key))
            continue;
        if (dense ? !op->hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutogradNonFunctional)
                  : is_view(op->schema()))
            continue;
        const std::string full =
            name.name.substr(6) + (name.overload_name.empty() ? "" : "." + name.overload_name);
        library->impl(full.c_str(), make_kernel());
        ++registered;
    }
    return registered; // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks): destroying the library would
                       // unregister its kernels
}

int register_direct_fallbacks() {
    return register_directly(c10::DispatchKey::PrivateUse1, c10::DispatchKey::CPU,
                             &torch::CppFunction::makeFromBoxedFunction<&fallback>);
}

namespace {

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
    m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
}

} // namespace

} // namespace rvk
