#pragma once
/// Calls Python code in torch_rvk/distributed. Python registers the functions as operators, because the
/// library must not depend on one version of Python:
///
///   connect_group(int group, float timeout) -> str
///   collective_between_hosts(int group, str collective, str what, float timeout, Staging staging,
///       Tensor[] outputs, Tensor[] inputs, int root, int reduction, float factor) -> str
///
/// Both return an empty string, or the sentence that describes a failure.

#include "transport.h"

#include <cstdint>
#include <string>

namespace rvk::distributed {

/// Connects the ranks of a group and chooses its transport (group.h).
std::string connect_in_python(std::int64_t group, double timeout);

/// A collective of a group whose ranks are on several hosts.
struct CallBetweenHosts {
    const char* collective; ///< the name of a method of Transport
    Tensors outputs, inputs;
    int root = -1;
    Reduction reduction;
};
std::string run_in_python(std::int64_t group, const Operation& operation, Staging& staging,
                          const CallBetweenHosts& call);

} // namespace rvk::distributed
