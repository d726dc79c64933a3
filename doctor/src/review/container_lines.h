#pragma once
/// Finds the lines of a document that describe what happens in a container.

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace rekindle::doctor {

/// The lines that belong to a Dockerfile, to a service of a compose file, or to a container of a Kubernetes
/// manifest. Such a file can be the whole document or be quoted in it.
class ContainerLines {
  public:
    explicit ContainerLines(std::string_view document);

    bool contains(std::size_t line) const;

  private:
    std::vector<std::pair<std::size_t, std::size_t>> ranges_; ///< first and last line, ascending
};

} // namespace rekindle::doctor
