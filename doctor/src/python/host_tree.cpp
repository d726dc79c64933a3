#include "python/host_tree.h"

#include "code_objects/byte_source.h"

#include <rekindle/foundation/error.h>

#include <algorithm>
#include <deque>
#include <system_error>

namespace rekindle::doctor {

namespace fs = std::filesystem;

namespace {

constexpr int max_links_in_tree = 40;
constexpr std::size_t max_entries_of_folder = 20'000;

} // namespace

HostTree::HostTree(fs::path root) : root_(std::move(root)) {
    std::error_code error;
    const fs::path absolute = fs::canonical(root_, error);
    if (!error)
        root_ = absolute;
}

fs::path HostTree::on_disk(const fs::path& resolved) const {
    return live() ? resolved : root_ / resolved.relative_path();
}

std::optional<fs::path> HostTree::resolve(const fs::path& path) const {
    std::error_code error;
    if (live()) {
        const fs::path canonical = fs::canonical(path, error);
        return error ? std::nullopt : std::optional(canonical);
    }
    fs::path done = "/";
    std::deque<fs::path> left(path.begin(), path.end());
    int links = 0;
    while (!left.empty()) {
        const fs::path part = left.front();
        left.pop_front();
        if (part.empty() || part == "." || part == "/")
            continue;
        if (part == "..") {
            done = done.parent_path();
            continue;
        }
        const fs::path candidate = done / part;
        const fs::file_status status = fs::symlink_status(on_disk(candidate), error);
        if (error || status.type() == fs::file_type::not_found)
            return std::nullopt;
        if (status.type() != fs::file_type::symlink) {
            done = candidate;
            continue;
        }
        const fs::path target = fs::read_symlink(on_disk(candidate), error);
        if (error || ++links > max_links_in_tree)
            return std::nullopt;
        if (target.is_absolute())
            done = "/";
        left.insert(left.begin(), target.begin(), target.end());
    }
    return done;
}

bool HostTree::is_file(const fs::path& path) const {
    const auto resolved = resolve(path);
    std::error_code ignored;
    return resolved && fs::is_regular_file(on_disk(*resolved), ignored);
}

bool HostTree::is_folder(const fs::path& path) const {
    const auto resolved = resolve(path);
    std::error_code ignored;
    return resolved && fs::is_directory(on_disk(*resolved), ignored);
}

std::optional<fs::path> HostTree::link_target(const fs::path& path) const {
    const auto folder = resolve(path.parent_path());
    std::error_code error;
    const fs::path target = folder ? fs::read_symlink(on_disk(*folder / path.filename()), error) : fs::path();
    return folder && !error ? std::optional(target) : std::nullopt;
}

std::vector<std::string> HostTree::list(const fs::path& folder) const {
    std::vector<std::string> names;
    const auto resolved = resolve(folder);
    if (!resolved)
        return names;
    std::error_code error;
    for (fs::directory_iterator entry(on_disk(*resolved), error), end;
         !error && entry != end && names.size() < max_entries_of_folder; entry.increment(error))
        names.push_back(entry->path().filename().string());
    std::ranges::sort(names);
    return names;
}

std::optional<std::string> HostTree::read(const fs::path& file, std::size_t limit) const {
    const auto resolved = resolve(file);
    if (!resolved)
        return std::nullopt;
    try {
        return read_text(FileSource(on_disk(*resolved)), 0, limit);
    } catch (const Error&) {
        return std::nullopt;
    }
}

} // namespace rekindle::doctor
