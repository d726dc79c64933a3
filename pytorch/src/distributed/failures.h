#pragma once
/// Failures of a group's operations. Each message is one sentence that names the rank that failed if it can
/// be determined. A rank is its number in the default group.

#include <cstdint>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>

namespace rvk::distributed {

/// A peer died, hung, or called another operation. The message is one sentence.
class PeerFailed : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// The sentence for ranks whose connections ended during an operation.
std::string is_gone(std::span<const std::int64_t> ranks, const std::string& what);
/// The sentence for ranks that did not join an operation within a timeout in seconds.
std::string is_late(std::span<const std::int64_t> ranks, const std::string& what, double timeout);

/// The message of an exception, without a backtrace.
std::string message_of(const std::exception& problem);

} // namespace rvk::distributed
