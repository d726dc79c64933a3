#pragma once
/// Environment variables and module parameters in a text.

#include "found.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// The targets that the text around a setting names, and whether it builds software.
struct SettingContext {
    struct Named {
        std::size_t at = 0; ///< in the block's text
        const GfxTarget* target = nullptr;
    };
    std::vector<const GfxTarget*> targets; ///< of the GPUs that the block names, else those of the document
    std::vector<Named> named;              ///< where the block names them
    bool building = false;                 ///< something is compiled nearby
    bool only_nvidia = false;              ///< the document is about NVIDIA's GPUs and no others
    std::string_view document;             ///< all of it
    std::string around;                    ///< the block, with the heading and the paragraph above it

    /// The same for a setting at `at`: if its sentence names GPUs, the setting is for those. The target that
    /// an override imitates does not count, unless the sentence names no other.
    SettingContext at_setting(std::string_view text, std::size_t at, std::string_view value) const;
};

/// The effect of a variable there. `value` is what is set, or "" if nothing is set or the value is unknown.
Judgment judge_variable(const EnvironmentVariable& variable, std::string_view name, std::string_view value,
                        const SettingContext& context, const Knowledge& knowledge);

/// What the review says about a name that has the family's prefix but does not exist.
Judgment judge_unknown(const VariableFamily& family, std::string_view name);

/// Keeps references to the knowledge. Immutable; threads may share it.
class VariableFinder {
  public:
    explicit VariableFinder(const Knowledge& knowledge);
    ~VariableFinder();
    VariableFinder(const VariableFinder&) = delete;
    VariableFinder& operator=(const VariableFinder&) = delete;

    void mark_variables(const Block& block, const SettingContext& context, std::vector<Found>& found) const;

  private:
    struct Names;

    const Knowledge& knowledge_;
    std::unique_ptr<Names> names_;
};

} // namespace rekindle::doctor
