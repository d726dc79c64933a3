"""PyTorch's device rvk: any GPU with a Vulkan driver."""
