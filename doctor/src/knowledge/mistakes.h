#pragma once
/// Mistakes in knowledge files, collected so that all of them are reported together.

#include <rekindle/doctor/knowledge.h>

#include <string>
#include <utility>
#include <vector>

namespace rekindle::doctor {

class Mistakes {
  public:
    struct Mistake {
        Origin origin;
        std::string what;
    };

    void add(Origin origin, std::string what) { found_.push_back({std::move(origin), std::move(what)}); }
    bool empty() const noexcept { return found_.empty(); }
    /// By file and line.
    std::vector<Mistake> sorted() const;

  private:
    std::vector<Mistake> found_;
};

/// "signatures/blas.yaml:12: what"
std::string to_string(const Mistakes::Mistake& mistake);

} // namespace rekindle::doctor
