#pragma once
/// Operators without a kernel for this device run on the CPU. Each is logged once and counted; in strict mode
/// it is an error.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <cstdint>
#include <string>
#include <torch/library.h>
#include <utility>
#include <vector>

namespace rvk {

/// The boxed kernel: copies the arguments to the CPU, runs the operator there, copies results and modified
/// arguments back.
void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack);

/// `fallback` with the operator's kernel for another CPU dispatch key, for example SparseCPU.
void run_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack, c10::DispatchKey cpu_key);

/// How often each operator ran on the CPU since the start or the last reset, "aten::svd" → 3; by name.
std::vector<std::pair<std::string, std::uint64_t>> fallback_counts();
void reset_fallback_counts();

/// Registers `fallback` directly for every operator that has a CPU kernel but none for this device, and whose
/// composite kernel would take a detour through its out= variant. Called once, after all other registrations.
/// Returns how many it registered.
int register_direct_fallbacks();

/// Gives every operator that has a kernel for `cpu_key` but none for `key` a kernel for `key`, so that no
/// composite kernel takes its place: for dense tensors, only operators whose composite kernel would take a
/// detour through out=; for other layouts, all operators except views. Returns how many it registered.
int register_directly(c10::DispatchKey key, c10::DispatchKey cpu_key, torch::CppFunction (*make_kernel)());

/// Calls register_directly for sparse and nested tensors. Must be called once, after all other registrations.
/// Returns the number of operators that it registered.
int register_layout_fallbacks();

} // namespace rvk
