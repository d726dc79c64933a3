#pragma once
/// Questions to a person, and checks that decide between causes: a text that names commands, files or
/// variables of another platform is not for this host.

#include "conditions/keys.h"
#include "conditions/situation.h"

#include <rekindle/doctor/facts.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rekindle::doctor {

/// What is known of the host that a question is for.
struct Ground {
    std::string system;               ///< "linux", "wsl", "windows"; "" when unknown
    std::vector<std::string> vendors; ///< of all GPUs that the host or the log shows; empty when unknown
    std::optional<bool> in_container;
};
/// `facts` with what the log shows (log/shown_facts.h), and the situation that was made of them.
Ground ground_of(const Facts& facts, const Situation& situation);

/// The text for this host: nothing if it names what only other hosts have, an addition if it must be asked of
/// the host below a container. An unknown property excludes nothing, but an unknown system is not Windows.
std::optional<std::string> question_for(std::string_view question, const Ground& ground);
/// Those that are for this host, in their order.
std::vector<std::string> questions_for(const std::vector<std::string>& questions, const Ground& ground);

/// Facts to ask a person for, with a weight for how much each would help.
class Questions {
  public:
    explicit Questions(Ground ground) : ground_(std::move(ground)) {}
    /// A question that was added before gains weight.
    void add(std::string_view question, double weight);
    /// Asks for the value of a key of conditions.
    void add_key(std::string_view key, double weight);
    /// What most conditions of the knowledge depend on, except what is known already.
    void add_general(const Situation& situation);
    std::vector<std::string> most_useful_first();

  private:
    void add_first(const Ask& alternatives, double weight);

    Ground ground_;
    std::vector<std::pair<std::string, double>> asked_;
};

} // namespace rekindle::doctor
