#pragma once
/// The differences between the PyTorch versions that the device supports (2.11 to 2.15), in one place.

#include <torch/version.h>

/// The arguments that MetaBase::set_output_* takes after the options: PyTorch up to 2.12 passes dimension
/// names.
#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR <= 12
#define RVK_OUTPUT_NAMES_PARAMETER , at::DimnameList names
#define RVK_OUTPUT_NAMES_ARGUMENT , names
#else
#define RVK_OUTPUT_NAMES_PARAMETER
#define RVK_OUTPUT_NAMES_ARGUMENT
#endif

/// PyTorch up to 2.12 computes var and std only on devices that it knows by name; there, this device
/// registers complete operators.
#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR <= 12
#define RVK_REGISTERS_VARIANCE 1
#else
#define RVK_REGISTERS_VARIANCE 0
#endif

/// Whether PyTorch has a registry for devices' profilers. PyTorch up to 2.12 has none and shows no events of
/// this device.
#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR <= 12
#define RVK_HAS_PROFILER_REGISTRY 0
#else
#define RVK_HAS_PROFILER_REGISTRY 1
#endif

/// at::native::padding::check_valid_input takes the number of padded dimensions as an argument since PyTorch
/// 2.15, and as a template argument before.
#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR <= 14
#define RVK_CHECK_PADDED_INPUT(self, padding, dimensions)                                                    \
    at::native::padding::check_valid_input<dimensions>(self, padding)
#else
#define RVK_CHECK_PADDED_INPUT(self, padding, dimensions)                                                    \
    at::native::padding::check_valid_input(self, padding, dimensions)
#endif

/// PyTorch registers CUDA's autocast policy for linalg_matrix_sqrth (float32) outside its lists of operators
/// (AT_FORALL_FP32). The operator exists since PyTorch 2.14.
#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR <= 13
#define RVK_AUTOCASTS_MATRIX_SQRTH 0
#else
#define RVK_AUTOCASTS_MATRIX_SQRTH 1
#endif
