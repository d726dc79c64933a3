#pragma once
/// Where a host keeps the libraries that its training would load.

#include <rekindle/doctor/probe.h>

#include <string>
#include <vector>

namespace rekindle::doctor {

/// The Python that would train: the one given by --python, else the active one; nullptr when the facts have
/// neither.
const PythonEnvironment* python_that_trains(const Facts& facts, const std::string& interpreter);

/// Folders in which to look for HIP, in this order: the one in the options, those of the ROCm wheel of the
/// Python that trains (which does not use /opt/rocm), those of the ROCm installations. The linker's own
/// search comes after them.
std::vector<std::string> hip_folders(const Facts& facts, const ProbeOptions& options);

} // namespace rekindle::doctor
