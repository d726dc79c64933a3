#pragma once
/// Conditions in the knowledge (knowledge/README.md, "Conditions"), and where an entry is written.

#include <string>
#include <vector>

namespace rekindle::doctor {

/// Location of an entry: "signatures/blas.yaml:12".
struct Origin {
    std::string file;
    int line = 0;
};

/// A condition: a tree as written in the YAML, evaluated by src/conditions/evaluate.h.
struct Condition {
    std::string key; ///< "gfx", "torch", "env.HSA_OVERRIDE_GFX_VERSION", "log", …, or "all", "any", "not"
    std::vector<std::string> values;
    std::vector<Condition> parts; ///< of all, any, not
    Origin origin;
};

} // namespace rekindle::doctor
