#pragma once
/// Limits the work of one launch so that it ends soon. The limit is measured, because no device property
/// gives it.

#include <algorithm>
#include <cstddef>

namespace rekindle::mlp::gpu {

/// Work is counted in batches of one network. The budget starts small and grows at most fourfold from launch
/// to launch, so that launches stay short on an unknown device too.
class LaunchBudget {
  public:
    static constexpr double longest_launch = 0.1; ///< target in seconds; a submit may take 0.2
    static constexpr double first_launch = 5e7;   ///< multiply-adds

    /// work: multiply-adds of one batch of one network.
    explicit LaunchBudget(double work) : allowed_(std::max(1.0, first_launch / std::max(work, 1.0))) {}

    struct Part {
        std::size_t members, batches; ///< per launch
    };
    /// For `members` networks with up to `batches` batches each. Prefers few batches of all members over many
    /// batches of some.
    Part part(std::size_t members, std::size_t batches) const {
        const auto limit = static_cast<std::size_t>(std::min(allowed_, 1e15));
        const std::size_t networks = std::clamp<std::size_t>(limit, 1, members);
        return {networks, std::clamp<std::size_t>(limit / networks, 1, std::max<std::size_t>(batches, 1))};
    }
    /// Reports the network batches that a launch contained and the seconds until it had ended.
    void measured(double network_batches, double seconds) {
        if (network_batches <= 0)
            return;
        seconds_ = seconds / network_batches;
        const double fitting = longest_launch / std::max(seconds_, 1e-12);
        allowed_ = std::clamp(fitting, 1.0, std::max(4 * network_batches, allowed_));
    }
    bool is_measured() const { return seconds_ > 0; }
    /// Expected duration of a launch of that size, or 0 before the first measurement.
    double seconds(double network_batches) const { return seconds_ * network_batches; }

  private:
    double allowed_, seconds_ = 0;
};

} // namespace rekindle::mlp::gpu
