#pragma once
/// The device rvk in C++ programs with libtorch: what they need beyond linking libtorch_rvk.so.
///
///     #include <torch_rvk/module.h>
///     torch_rvk::to_device(*net, torch::Device("rvk"));
///     torch::optim::AdamW optimizer(net->parameters());
///
/// Link with libtorch_rvk.so and -Wl,--no-as-needed (nothing of it is called by name), or open it with
/// dlopen() before the first torch::Device("rvk").

#include <torch/nn/module.h>
#include <torch/types.h>

namespace torch_rvk {

/// Moves a module's parameters and buffers to a device, in place, as nn::Module::to() does for PyTorch's own
/// devices; that one throws "incompatible tensor type" for a device like rvk (PyTorch 2.11 to 2.13). Before
/// the optimiser is made and before any backward(): gradients are not moved. Tensors that share storage with
/// a parameter keep the former one.
inline void to_device(torch::nn::Module& module, torch::Device device) {
    const torch::NoGradGuard no_gradients;
    const auto move = [device](torch::Tensor& tensor) {
        if (!tensor.defined() || tensor.device() == device)
            return;
        TORCH_CHECK(!tensor.grad().defined(), "torch_rvk::to_device() comes before backward().");
        const torch::Tensor moved = tensor.detach().to(device);
        tensor.unsafeGetTensorImpl()->shallow_copy_from(moved.getIntrusivePtr());
    };
    for (torch::Tensor& parameter : module.parameters())
        move(parameter);
    for (torch::Tensor& buffer : module.buffers())
        move(buffer);
}

} // namespace torch_rvk
