#pragma once
/// CUDA fat binaries, as nvcc writes them into .nv_fatbin and __nv_relfatbin. NVIDIA documents the content
/// only through its tool cuobjdump; the layout is the one that open-source loaders read (ZLUDA, Cricket): a
/// region header with magic 0xBA55ED50, then entries that name their kind (PTX or machine code) and
/// architecture.

#include "code_objects/byte_source.h"
#include "code_objects/targets.h"

#include <rekindle/doctor/code_objects.h>

namespace rekindle::doctor {

/// Adds "sm_90" for machine code and "compute_90" for PTX, with the bytes as stored (mostly compressed).
/// The letter of architecture-specific code (sm_90a) is inside the compressed code and is not reported.
void read_cuda_fatbin(const ByteSource& source, ByteRange range, const ScanOptions& options,
                      TargetCollector& found);

} // namespace rekindle::doctor
