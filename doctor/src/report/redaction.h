#pragma once
/// Taking out of a text what tells who somebody is.

#include <rekindle/doctor/facts.h>

#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// Knows the names that belong to a host and replaces them, and every path outside the system's own folders,
/// wherever they stand: "/home/anna/my venv/lib/python3.10/site-packages/torch" →
/// "<path>/site-packages/torch". Whether a path holds a blank stays visible ("<path with a space>"), because
/// that is a cause of failures.
class Redactor {
  public:
    explicit Redactor(const Facts& facts);
    std::string operator()(std::string_view text) const;

  private:
    std::string without_names(std::string text) const;

    std::vector<std::string> private_paths_; ///< known paths, longest first: they may hold blanks
    std::string user_;
    std::string host_;
};

} // namespace rekindle::doctor
