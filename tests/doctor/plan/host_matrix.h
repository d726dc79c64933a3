#pragma once
/// Hosts combined from a system, a GPU and a PyTorch: a plan must fit every combination.

#include <rekindle/doctor/facts.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace rekindle::doctor::fixtures {

/// Properties that no step may contradict. Empty: unknown.
struct MatrixHost {
    std::string name;            ///< "wsl on ubuntu, RTX 5090, torch for cuda"
    std::string system;          ///< "linux", "wsl", "windows"
    std::string package_manager; ///< "apt", "dnf", "pacman", "zypper", "" for an unknown one
    std::string container;       ///< "none", "docker", …
    bool ubuntu = false;
    bool amd = false; ///< if no GPU is known, both are possible
    bool nvidia = false;
    bool any_amd = false; ///< also an integrated one that is not trained on
    bool conda = false;
    bool rocm_on_library_path = false; ///< LD_LIBRARY_PATH names /opt/rocm
    std::optional<bool> vulkan;        ///< every GPU has a Vulkan driver, or none has; unknown otherwise
    Facts facts;
};

/// Every system × GPU × PyTorch; every system × known GPU with and without a Vulkan driver; and a host about
/// which nothing is known.
std::vector<MatrixHost> host_matrix();

/// host_matrix(), but one host of `sampled` under AddressSanitizer, where all of them would take minutes.
std::vector<MatrixHost> sampled_host_matrix();
#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t sampled = 7;
#else
constexpr std::size_t sampled = 1;
#endif

} // namespace rekindle::doctor::fixtures
