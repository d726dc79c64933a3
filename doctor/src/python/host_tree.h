#pragma once
/// Files of a host that is live ("/") or recorded below a folder. Paths are the host's own: in a recorded
/// one, an absolute link leads to a place below its root, as it would on the host. Nothing is opened except
/// regular files and folders.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rekindle::doctor {

/// Thread-safe: it stores only the root.
class HostTree {
  public:
    explicit HostTree(std::filesystem::path root = "/");

    bool live() const { return root_ == "/"; }
    /// The path after following all links, as the host names it; nothing when it does not exist, or a link
    /// leads nowhere or in a circle.
    std::optional<std::filesystem::path> resolve(const std::filesystem::path& path) const;
    /// Where the file is for this process. Precondition: `resolved` comes from resolve(), or has no links.
    std::filesystem::path on_disk(const std::filesystem::path& resolved) const;

    bool is_file(const std::filesystem::path& path) const;
    bool is_folder(const std::filesystem::path& path) const;
    /// Target of a link, as stored; nothing when the path is not a link.
    std::optional<std::filesystem::path> link_target(const std::filesystem::path& path) const;
    /// Names in a folder, sorted, at most 20,000; empty when it cannot be read.
    std::vector<std::string> list(const std::filesystem::path& folder) const;
    /// At most `limit` bytes of a regular file; nothing when it cannot be read.
    std::optional<std::string> read(const std::filesystem::path& file, std::size_t limit = 256 << 10) const;

  private:
    std::filesystem::path root_;
};

} // namespace rekindle::doctor
