#pragma once
/// "torch 2.6 dropped RDNA1": claims about the release that removed or added code for a GPU, checked against
/// the wheels' targets.

#include "found.h"
#include "targets.h"

#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

class SupportClaims {
  public:
    /// Keeps references to both.
    SupportClaims(const Knowledge& knowledge, const TargetFinder& finder)
        : knowledge_(knowledge), finder_(finder) {}

    /// Judges only releases and targets that the knowledge records: those of PyTorch's own indexes, and
    /// versions of ROCm only if the sentence is about wheels.
    void mark_claims(const Block& block, std::vector<Found>& found) const;

  private:
    /// The targets of the GPUs, generations and architectures that a text names.
    std::vector<std::string> targets_named(std::string_view part) const;

    const Knowledge& knowledge_;
    const TargetFinder& finder_;
};

} // namespace rekindle::doctor
