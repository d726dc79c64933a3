#pragma once
/// GPUs, gfx targets and architectures named in a text, and what the text says about them.

#include "found.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// A gfx target, GPU model or architecture where a text names it.
struct Mention {
    enum class Kind { gfx, card, architecture };
    Kind kind = Kind::gfx;
    std::size_t at = 0;
    std::size_t size = 0;
    std::string name;                 ///< "gfx1100", "Radeon RX 7900 XT", "RDNA3"
    std::vector<std::string> targets; ///< for a GPU model: usually one
};

/// Keeps references to the knowledge. Immutable; threads may share it.
class TargetFinder {
  public:
    explicit TargetFinder(const Knowledge& knowledge);
    ~TargetFinder();
    TargetFinder(const TargetFinder&) = delete;
    TargetFinder& operator=(const TargetFinder&) = delete;

    /// In the order of the text.
    std::vector<Mention> mentions(std::string_view text) const;
    /// Marks every gfx name, and every statement that a GPU or target has some target or architecture.
    void mark_targets(const Block& block, const std::vector<Mention>& mentions,
                      std::vector<Found>& found) const;

  private:
    struct Names;
    Judgment judge_name(const std::string& gfx) const;
    Judgment judge_statement(const Mention& subject, const Mention& said) const;
    void mark_statements(const Block& block, const std::vector<Mention>& mentions, std::size_t subject,
                         const std::vector<std::size_t>& objects, std::vector<Found>& found) const;

    const Knowledge& knowledge_;
    std::unique_ptr<Names> names_;
};

/// What HSA_OVERRIDE_GFX_VERSION=`value` does on a GPU with the target.
Judgment judge_override(std::string_view value, const GfxTarget& target, const Knowledge& knowledge);

/// "10.3.0" → "gfx1030", "9.0.10" → "gfx90a"; "" when it is not a version.
std::string target_of_override(std::string_view value);

} // namespace rekindle::doctor
