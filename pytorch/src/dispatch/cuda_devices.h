#pragma once
/// CUDA devices in programs that run under torch_rvk.run.

namespace rvk {

/// From now on, a CUDA device in an operator's arguments means the rvk device with the same number: in
/// factories (`zeros`, `empty_like`, `new_full`), in `to` and `cuda`, called from Python, TorchScript or C++,
/// in CPU, CUDA and ROCm builds of PyTorch. Results are tensors on rvk. TorchScript's autocast for CUDA
/// applies to them too. Lasts until the process ends; further calls do nothing. Must not be called while
/// another thread runs operators, nor in a process that has tensors on a CUDA device.
void map_cuda_devices();
/// Whether map_cuda_devices() was called. Thread-safe.
bool maps_cuda_devices() noexcept;

} // namespace rvk
