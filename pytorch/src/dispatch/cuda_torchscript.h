#pragma once
/// CUDA devices in TorchScript, for programs that run under torch_rvk.run.

namespace rvk {

/// Maps CUDA devices in the arguments of TorchScript's own operators (`x.to("cuda")`,
/// `torch.Generator("cuda")`), which initialize CUDA before they call an operator of PyTorch. Functions
/// compiled earlier are not changed. Call once.
void map_cuda_devices_in_torchscript();

} // namespace rvk
