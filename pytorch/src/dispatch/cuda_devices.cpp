#include "cuda_devices.h"

#include "cuda_torchscript.h"

#include <ATen/NativeFunctions.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <algorithm>
#include <atomic>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <torch/library.h>

namespace rvk {

namespace {

using c10::DispatchKey;

c10::Device mapped(c10::Device device) {
    return device.is_cuda() ? c10::Device(c10::kPrivateUse1, device.index()) : device;
}

std::optional<c10::Device> mapped(std::optional<c10::Device> device) {
    return device ? std::optional(mapped(*device)) : std::nullopt;
}

/// Handles a call that PyTorch dispatches to CUDA. There are no CUDA tensors, so only a device argument leads
/// there, even in builds of PyTorch that have kernels for CUDA.
void call_on_rvk(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    bool found = false;
    for (std::size_t i = stack->size() - op.schema().arguments().size(); i < stack->size(); ++i) {
        c10::IValue& argument = (*stack)[i];
        if (!argument.isDevice() || !argument.toDevice().is_cuda())
            continue;
        argument = mapped(argument.toDevice());
        found = true;
    }
    TORCH_CHECK_NOT_IMPLEMENTED(found, op.schema().operator_name(),
                                " needs CUDA, and this program runs on rvk.");
    op.callBoxed(*stack);
}

/// `to` compares devices to decide whether it may return its argument. Without these kernels, moving an rvk
/// tensor to CUDA would always copy it.
at::Tensor to_layout(const at::Tensor& self, std::optional<c10::ScalarType> dtype,
                     std::optional<c10::Layout> layout, std::optional<c10::Device> device,
                     std::optional<bool> pinned, bool non_blocking, bool copy,
                     std::optional<c10::MemoryFormat> format) {
    return at::native::to(self, dtype, layout, mapped(device), pinned, non_blocking, copy, format);
}

at::Tensor to_device(const at::Tensor& self, c10::Device device, c10::ScalarType dtype, bool non_blocking,
                     bool copy, std::optional<c10::MemoryFormat> format) {
    return at::native::to(self, mapped(device), dtype, non_blocking, copy, format);
}

/// TorchScript inserts these calls for `with torch.autocast("cuda")`; PyTorch's own kernels skip tensors on
/// rvk.
at::Tensor to_reduced_precision(const at::Tensor& self, bool cuda_enabled, bool, c10::ScalarType cuda_dtype,
                                c10::ScalarType) {
    return cuda_enabled && self.scalar_type() == c10::kFloat ? self.to(cuda_dtype) : self;
}

at::Tensor to_full_precision(const at::Tensor& self, bool cuda_enabled, bool) {
    const bool is_reduced = self.scalar_type() == c10::kHalf || self.scalar_type() == c10::kBFloat16;
    return cuda_enabled && is_reduced ? self.to(c10::kFloat) : self;
}

/// Answers code that asks CUDA for the current device and its streams.
class CudaGuard final : public c10::impl::DeviceGuardImplInterface {
  public:
    explicit CudaGuard(const c10::impl::DeviceGuardImplInterface* guard) : guard_(guard) {}

    c10::DeviceType type() const override { return c10::kCUDA; }
    c10::Device exchangeDevice(c10::Device device) const override {
        return guard_->exchangeDevice(mapped(device));
    }
    c10::Device getDevice() const override { return guard_->getDevice(); }
    void setDevice(c10::Device device) const override { guard_->setDevice(mapped(device)); }
    void uncheckedSetDevice(c10::Device device) const noexcept override {
        guard_->uncheckedSetDevice(mapped(device));
    }
    c10::DeviceIndex deviceCount() const noexcept override { return guard_->deviceCount(); }
    c10::DeviceCapability getDeviceCapability(c10::Device device) const override {
        return guard_->getDeviceCapability(mapped(device));
    }

    c10::Stream getStream(c10::Device device) const override { return guard_->getStream(mapped(device)); }
    c10::Stream getDefaultStream(c10::Device device) const override {
        return guard_->getDefaultStream(mapped(device));
    }
    c10::Stream getStreamFromGlobalPool(c10::Device device, bool high_priority) const override {
        return guard_->getStreamFromGlobalPool(mapped(device), high_priority);
    }
    c10::Stream getNewStream(c10::Device device, int priority) const override {
        return guard_->getNewStream(mapped(device), priority);
    }
    c10::Stream exchangeStream(c10::Stream stream) const override { return guard_->exchangeStream(stream); }
    void* getStreamNativeHandle(const c10::Stream stream) const override {
        return guard_->getStreamNativeHandle(stream);
    }
    bool queryStream(const c10::Stream& stream) const override { return guard_->queryStream(stream); }
    void synchronizeStream(const c10::Stream& stream) const override { guard_->synchronizeStream(stream); }
    void synchronizeDevice(const c10::DeviceIndex index) const override { guard_->synchronizeDevice(index); }

    void record(void** event, const c10::Stream& stream, const c10::DeviceIndex index,
                const c10::EventFlag flag) const override {
        guard_->record(event, stream, index, flag);
    }
    void block(void* event, const c10::Stream& stream) const override { guard_->block(event, stream); }
    bool queryEvent(void* event) const override { return guard_->queryEvent(event); }
    void synchronizeEvent(void* event) const override { guard_->synchronizeEvent(event); }
    void destroyEvent(void* event, const c10::DeviceIndex index) const noexcept override {
        guard_->destroyEvent(event, index);
    }
    double elapsedTime(void* earlier, void* later, const c10::DeviceIndex index) const override {
        return guard_->elapsedTime(earlier, later, index);
    }
    void recordDataPtrOnStream(const c10::DataPtr& memory, const c10::Stream& stream) const override {
        guard_->recordDataPtrOnStream(memory, stream);
    }

  private:
    const c10::impl::DeviceGuardImplInterface* guard_;
};

torch::Library kernels_for(const char* operators, DispatchKey key) {
    return {torch::Library::IMPL, operators, key, __FILE__, __LINE__};
}

bool takes_device(const c10::FunctionSchema& schema) {
    return std::ranges::any_of(schema.arguments(), [](const c10::Argument& argument) {
        const auto optional = argument.type()->cast<c10::OptionalType>();
        const auto& type = optional ? optional->getElementType() : argument.type();
        return type->kind() == c10::TypeKind::DeviceObjType;
    });
}

/// Replaces the kernels that CUDA and ROCm builds have under this key for operators that take a device.
void replace_kernels(DispatchKey key, std::deque<torch::Library>& kernels) {
    std::map<std::string, torch::Library*> by_namespace;
    for (const auto& name : c10::Dispatcher::singleton().getAllOpNamesForDispatchKey(key)) {
        const auto op = c10::Dispatcher::singleton().findSchema(name);
        if (!op || !takes_device(op->schema()))
            continue;
        const std::string space(name.getNamespace().value_or("aten"));
        auto& library = by_namespace[space];
        if (library == nullptr)
            library = &kernels.emplace_back(kernels_for(space.c_str(), key));
        library->impl(c10::toString(name).c_str(), torch::CppFunction::makeFromBoxedFunction<&call_on_rvk>());
    }
}

/// Suppresses PyTorch's warnings about replaced kernels.
class NoWarnings final : public c10::WarningHandler {
  public:
    void process(const c10::Warning&) override {}
};

/// PyTorch removes these registrations when the returned objects are destroyed.
std::deque<torch::Library> register_kernels() {
    NoWarnings no_warnings;
    const c10::WarningUtils::WarningHandlerGuard guard(&no_warnings);
    std::deque<torch::Library> kernels;
    for (const auto key : {DispatchKey::CUDA, DispatchKey::SparseCUDA, DispatchKey::SparseCsrCUDA,
                           DispatchKey::NestedTensorCUDA, DispatchKey::QuantizedCUDA}) {
        kernels.emplace_back(kernels_for("_", key))
            .fallback(torch::CppFunction::makeFromBoxedFunction<&call_on_rvk>());
        replace_kernels(key, kernels);
    }
    for (const auto key : {DispatchKey::AutogradPrivateUse1, DispatchKey::PrivateUse1,
                           DispatchKey::SparsePrivateUse1, DispatchKey::SparseCsrPrivateUse1})
        kernels.emplace_back(kernels_for("aten", key))
            .impl("to.dtype_layout", TORCH_FN(to_layout))
            .impl("to.device", TORCH_FN(to_device))
            .impl("_autocast_to_reduced_precision", TORCH_FN(to_reduced_precision))
            .impl("_autocast_to_full_precision", TORCH_FN(to_full_precision));
    return kernels;
}
std::atomic<bool> maps_cuda{false};

} // namespace

void map_cuda_devices() {
    maps_cuda.store(true, std::memory_order_relaxed);
    // Never destroyed: operators may run while static objects are being destroyed.
    [[maybe_unused]] static const auto* const kernels = [] {
        static const CudaGuard guard(c10::impl::getDeviceGuardImpl(c10::kPrivateUse1));
        const c10::impl::DeviceGuardImplRegistrar registrar(c10::kCUDA, &guard);
        map_cuda_devices_in_torchscript();
        return new std::deque<torch::Library>(register_kernels());
    }();
}
bool maps_cuda_devices() noexcept {
    return maps_cuda.load(std::memory_order_relaxed);
}

} // namespace rvk
