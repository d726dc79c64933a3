#pragma once
/// Which lines of a document say what happens in a container.

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace rekindle::doctor {

/// The lines of Dockerfiles, of the services of compose files, and of the containers of Kubernetes manifests:
/// the whole document, or quoted in one.
class ContainerLines {
  public:
    explicit ContainerLines(std::string_view document);

    bool contains(std::size_t line) const;

  private:
    std::vector<std::pair<std::size_t, std::size_t>> ranges_; ///< first and last line, ascending
};

} // namespace rekindle::doctor
