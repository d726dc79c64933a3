#pragma once
/// Which torch is on which index: pip commands, "2.5.1+rocm6.3", "PyTorch 2.5.1 + ROCm 6.2", rows of
/// tables.

#include "found.h"
#include "version.h"

#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// The wheel of one torch on one index. `index` is an id ("rocm6.2"); a nightly index is not judged.
Judgment judge_wheel(const VersionPattern& torch, std::string_view index, const Knowledge& knowledge);
/// A torch and a ROCm named together in prose: official wheels and images count.
Judgment judge_pair(const VersionPattern& torch, const VersionPattern& rocm, const Knowledge& knowledge);

/// Processes blocks in order; remembers the columns of the current table.
class WheelReview {
  public:
    explicit WheelReview(const Knowledge& knowledge) : knowledge_(knowledge) {}
    /// `about_amd`: the document mentions AMD hardware or ROCm, so a CUDA wheel is not what it needs.
    void mark_pairs(const Block& block, bool about_amd, std::vector<Found>& found);

  private:
    void mark_installs(const Block& block, bool about_amd, std::vector<Found>& found) const;
    void mark_local_versions(const Block& block, std::vector<Found>& found) const;
    void mark_prose(const Block& block, std::vector<Found>& found) const;
    void mark_row(const Block& block, std::vector<Found>& found);

    const Knowledge& knowledge_;
    int torch_column_ = -1;
    int rocm_column_ = -1;
};

} // namespace rekindle::doctor
