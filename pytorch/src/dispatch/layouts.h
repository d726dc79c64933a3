#pragma once
/// How sparse and nested tensors reach the CPU (layouts.cpp).

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <torch/library.h>

namespace rvk {

/// `fallback` (fallback.h) with the operator's kernel of another of the CPU's dispatch keys, SparseCPU for
/// example.
void run_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack, c10::DispatchKey cpu_key);

/// What register_direct_fallbacks (fallback.h) does, for a kind of tensors: every operator with a kernel for
/// `cpu_key` and none for `key` gets one for `key`, so that no composite kernel takes its place; views do
/// not. Of dense tensors only those with a detour through out=. Returns how many.
int register_directly(c10::DispatchKey key, c10::DispatchKey cpu_key, torch::CppFunction (*make_kernel)());

} // namespace rvk
