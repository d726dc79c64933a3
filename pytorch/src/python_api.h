#pragma once
/// The functions that the Python package calls: operators without tensors, torch.ops.rvk.NAME
/// (python_api.cpp). They are the whole interface between torch_rvk/*.py and the library, apart from what
/// PyTorch itself calls through guard, hooks, allocator and generator (torch.accelerator.*, torch.Stream,
/// torch.Event, torch.Generator).
///
///   version() -> str                      of torch-rvk
///   torch_version() -> str                the PyTorch that it was built for, "2.13.0+cpu"
///   device_count() -> int
///   is_initialized() -> bool              a device is open in this process; does not enumerate devices
///   is_forked() -> bool                   the process was forked from one that had looked for devices
///   why_no_device() -> str                one sentence; empty if there is a device
///   device_properties(int device) -> Dict(str, str)   see below; opens no device
///   self_test(int device) -> Dict(str, str)   name of each row to "passed", "failed: REASON", "unsupported:
///   REASON" or "absent: REASON"; runs it now, opens the device
///   default_generator(int device) -> Generator?       opens no device
///   manual_seed(int seed) -> ()           seeds the current device; does not enumerate devices
///   manual_seed_all(int seed) -> ()       seeds all devices; does not enumerate devices
///   fallback_stats() -> Dict(str, int)    calls of each operator that ran on the CPU since the last reset
///   reset_fallback_stats() -> ()
///   map_cuda_devices() -> ()            a CUDA device in an argument means rvk (dispatch/cuda_devices.h)
///   finish() -> ()                        at the end of the process: waits, saves compiled pipelines; never
///   raises
///
/// A device number that does not exist raises an IndexError. All functions are thread-safe.

#include "device/devices.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace rvk {

/// The fields of DeviceProperties in torch_rvk/devices.py, each as text: numbers in decimal, "1" or "0" for a
/// bool.
std::map<std::string, std::string> device_properties(DeviceIndex index);

/// The rows of the runtime's self-test in their order, each with its outcome. Throws runtime::Error.
std::vector<std::pair<std::string, std::string>> self_test(DeviceIndex index);

} // namespace rvk
