#pragma once
/// Finds the known claims (and the known commands and settings) in a text.

#include "container_lines.h"
#include "found.h"

#include <memory>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// Keeps references to the knowledge. Immutable; threads may share it.
class ClaimFinder {
  public:
    explicit ClaimFinder(const Knowledge& knowledge);
    ~ClaimFinder();
    ClaimFinder(const ClaimFinder&) = delete;
    ClaimFinder& operator=(const ClaimFinder&) = delete;

    /// The claims that can apply to a document: those whose subject it mentions.
    using Scope = std::vector<const Claim*>;
    Scope scope_of(std::string_view document) const;
    /// Marks every claim of the block that is in scope and not denied there, each claim once per line.
    /// `heading` is the one above the block, "" if there is none; `container` has the document's lines about
    /// containers. The time is linear in the length of the block.
    void mark_claims(const Block& block, const std::string& heading, const ContainerLines& container,
                     const Scope& scope, std::vector<Found>& found) const;
    /// The claims that have a pattern matching somewhere in the text, in the knowledge's order.
    std::vector<const Claim*> in_text(std::string_view text) const;

  private:
    struct Patterns;
    static std::shared_ptr<const Patterns> patterns_of(const Knowledge& knowledge);

    std::shared_ptr<const Patterns> patterns_;
    const Knowledge& knowledge_;
};

/// Whether the sentence around a range denies what is said there: "it is not true that …", "the claim that …
/// is false".
bool is_denied(std::string_view text, std::size_t begin, std::size_t end);

Verdict verdict_of(const Claim& claim) noexcept;

} // namespace rekindle::doctor
