#pragma once
/// Removes what identifies a person from a text.

#include <rekindle/doctor/facts.h>

#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// Knows the names that belong to a host and replaces them, and every path outside the system's own
/// folders, wherever they occur: "/home/anna/my venv/lib/python3.10/site-packages/torch" →
/// "<path>/site-packages/torch". Whether a path contains a space stays visible ("<path with a space>"),
/// because that can cause failures.
class Redactor {
  public:
    explicit Redactor(const Facts& facts);
    std::string operator()(std::string_view text) const;

  private:
    std::string without_names(std::string text) const;

    std::vector<std::string> private_paths_; ///< known paths, longest first: they may contain spaces
    std::string user_;
    std::string host_;
};

} // namespace rekindle::doctor
