#pragma once
/// The CPU fallback for sparse and nested tensors (layouts.cpp).

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <torch/library.h>

namespace rvk {

/// `fallback` (fallback.h) with the operator's kernel for another CPU dispatch key, for example SparseCPU.
void run_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack, c10::DispatchKey cpu_key);

/// Like register_direct_fallbacks (fallback.h), for one kind of tensors: every operator with a kernel for
/// `cpu_key` and none for `key` gets one for `key`, so that no composite kernel takes its place; views do not
/// get one. For dense tensors, only operators with a detour through out= do. Returns how many it registered.
int register_directly(c10::DispatchKey key, c10::DispatchKey cpu_key, torch::CppFunction (*make_kernel)());

} // namespace rvk
