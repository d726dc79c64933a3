#include "file_service.h"

#include <rekindle/foundation/file.h>

#include <climits>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <string_view>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <vector>

namespace rekindle::doctor {

namespace {

constexpr int max_links_of_path = 40;                // the kernel's own limit
constexpr std::size_t max_entries_of_answer = 65536; // entries of a folder

FileAnswer failed(int error) {
    return {.error = error, .more = false, .data = {}};
}

std::string number_bytes(const FileNumbers& numbers) {
    return {reinterpret_cast<const char*>(&numbers), sizeof numbers};
}

std::optional<std::string> link_target(const std::string& path) {
    std::array<char, PATH_MAX> target{};
    const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
    if (length < 0)
        return std::nullopt;
    return std::string(target.data(), static_cast<std::size_t>(length));
}

std::vector<std::string> parts_of(std::string_view path) {
    std::vector<std::string> parts;
    while (!path.empty()) {
        const std::size_t end = std::min(path.find('/'), path.size());
        if (end > 0)
            parts.emplace_back(path.substr(0, end));
        path.remove_prefix(std::min(end + 1, path.size()));
    }
    return parts;
}

/// Walks a path as if `root` were "/". Returns the path inside the root, without links and without "..", or
/// sets errno.
std::optional<std::string> resolve_inside(const std::string& root, std::string_view path, bool follow_last) {
    std::vector<std::string> waiting = parts_of(path); // the next one is the last element
    std::reverse(waiting.begin(), waiting.end());
    std::string done; // "" or "/a/b"
    int links = 0;
    while (!waiting.empty()) {
        const std::string part = std::move(waiting.back());
        waiting.pop_back();
        if (part == ".")
            continue;
        if (part == "..") {
            done.resize(done.empty() ? 0 : done.rfind('/'));
            continue;
        }
        std::string next = done;
        next.append("/").append(part);
        const auto target = follow_last || !waiting.empty() ? link_target(root + next) : std::nullopt;
        if (!target) {
            done = std::move(next);
            continue;
        }
        if (++links > max_links_of_path || waiting.size() + target->size() > PATH_MAX) {
            errno = ELOOP;
            return std::nullopt;
        }
        if (target->starts_with('/'))
            done.clear();
        std::vector<std::string> more = parts_of(*target);
        waiting.insert(waiting.end(), std::make_move_iterator(more.rbegin()),
                       std::make_move_iterator(more.rend()));
    }
    return done.empty() ? "/" : done;
}

/// Where a path of the host is for the kernel of this process.
std::optional<std::string> real_path(const std::string& root, const std::string& path,
                                     bool follow_last = true) {
    if (root.empty())
        return path;
    const auto inside = resolve_inside(root, path, follow_last);
    if (!inside)
        return std::nullopt;
    return root + *inside;
}

/// Opens without blocking: a FIFO, a terminal or a device is not opened at all.
int open_kind(const std::string& path, mode_t kind, FileDescriptor& file) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0)
        return errno;
    if ((status.st_mode & S_IFMT) != kind)
        return kind == S_IFDIR ? ENOTDIR : S_ISDIR(status.st_mode) ? EISDIR : not_a_regular_file;
    const int flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | (kind == S_IFDIR ? O_DIRECTORY : 0);
    file = FileDescriptor(::open(path.c_str(), flags));
    return file ? 0 : errno;
}

FileAnswer read_bytes(const std::string& path, std::int64_t offset, std::uint64_t limit) {
    FileDescriptor file;
    if (const int error = open_kind(path, S_IFREG, file))
        return failed(error);
    if (offset != 0 && ::lseek(file.get(), offset, offset < 0 ? SEEK_END : SEEK_SET) < 0 &&
        !(offset < 0 && errno == EINVAL)) // the file is shorter than that: read it from its beginning
        return failed(errno);
    FileAnswer answer;
    std::array<char, 65536> block{};
    while (true) {
        const std::uint64_t room = limit - answer.data.size();
        const ssize_t count =
            ::read(file.get(), block.data(), std::min<std::uint64_t>(block.size(), room + 1));
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return failed(errno);
        if (count == 0)
            return answer;
        answer.data.append(block.data(), std::min<std::size_t>(room, static_cast<std::size_t>(count)));
        if (static_cast<std::size_t>(count) > room) {
            answer.more = true;
            return answer;
        }
    }
}

char kind_letter(unsigned char type) {
    switch (type) {
    case DT_DIR:
        return 'd';
    case DT_REG:
        return 'f';
    case DT_LNK:
        return 'l';
    case DT_CHR:
        return 'c';
    case DT_BLK:
        return 'b';
    default:
        return '?';
    }
}

/// Entries as "kind name NUL target NUL".
FileAnswer list_folder(const std::string& path) {
    FileDescriptor folder;
    if (const int error = open_kind(path, S_IFDIR, folder))
        return failed(error);
    const auto close = [](DIR* open) { ::closedir(open); };
    const std::unique_ptr<DIR, decltype(close)> entries(::fdopendir(folder.get()), close);
    if (!entries)
        return failed(errno);
    folder.release();
    FileAnswer answer;
    std::size_t count = 0;
    errno = 0;
    while (const dirent* entry = ::readdir(entries.get())) {
        const std::string_view name = entry->d_name;
        if (name == "." || name == "..")
            continue;
        if (++count > max_entries_of_answer)
            return failed(too_many_entries);
        answer.data += kind_letter(entry->d_type);
        answer.data += name;
        answer.data += '\0';
        if (entry->d_type == DT_LNK)
            answer.data += link_target(path + "/" + entry->d_name).value_or("");
        answer.data += '\0';
        errno = 0;
    }
    return errno == 0 ? answer : failed(errno);
}

FileAnswer file_status(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0)
        return failed(errno);
    FileNumbers numbers;
    numbers.mode = status.st_mode;
    numbers.owner = status.st_uid;
    numbers.group = status.st_gid;
    numbers.size = static_cast<std::uint64_t>(status.st_size);
    numbers.major = major(status.st_rdev);
    numbers.minor = minor(status.st_rdev);
    return {.error = 0, .more = false, .data = number_bytes(numbers)};
}

FileAnswer file_system_space(const std::string& path) {
    struct statvfs space {};
    if (::statvfs(path.c_str(), &space) != 0)
        return failed(errno);
    FileNumbers numbers;
    numbers.total = space.f_blocks * space.f_frsize;
    numbers.free = space.f_bavail * space.f_frsize;
    return {.error = 0, .more = false, .data = number_bytes(numbers)};
}

/// The kernel's check of permission bits and of the device cgroup is the same as for open, without open's
/// side effects (opening a GPU's node wakes the GPU).
FileAnswer may_use(const std::string& path) {
    const bool plain = ::getuid() == ::geteuid() && ::getgid() == ::getegid();
    const int refused = plain ? ::access(path.c_str(), R_OK | W_OK)
                              : ::faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK, AT_EACCESS);
    return refused ? failed(errno) : FileAnswer{};
}

/// One record per read; a record that was overwritten in the meantime gives EPIPE, and the next read
/// continues.
FileAnswer kernel_records(const std::string& path, std::uint64_t limit) {
    const FileDescriptor log(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!log)
        return failed(errno);
    FileAnswer answer;
    std::array<char, 16384> record{};
    while (answer.data.size() < limit) {
        const ssize_t count = ::read(log.get(), record.data(), record.size());
        if (count > 0)
            answer.data.append(record.data(), static_cast<std::size_t>(count));
        else if (count == 0 || errno == EAGAIN)
            return answer;
        else if (errno != EPIPE && errno != EINTR && errno != EINVAL)
            return failed(errno);
    }
    answer.more = true;
    return answer;
}

} // namespace

FileAnswer answer_from_files(const std::string& root, const FileRequest& request) {
    const bool follow = request.operation != FileOperation::link;
    const auto path = real_path(root, request.path, follow);
    if (!path)
        return failed(errno);
    switch (request.operation) {
    case FileOperation::read:
        return read_bytes(*path, request.offset, request.limit);
    case FileOperation::list:
        return list_folder(*path);
    case FileOperation::status:
        return file_status(*path);
    case FileOperation::space:
        return file_system_space(*path);
    case FileOperation::access:
        return may_use(*path);
    case FileOperation::kernel_log:
        return kernel_records(*path, request.limit);
    case FileOperation::link:
        if (auto target = link_target(*path))
            return {.error = 0, .more = false, .data = std::move(*target)};
        return failed(errno);
    case FileOperation::resolve:
        const auto inside = resolve_inside(root, request.path, true);
        struct stat status {};
        if (!inside || ::stat((root + *inside).c_str(), &status) != 0)
            return failed(errno);
        return {.error = 0, .more = false, .data = *inside};
    }
    return failed(EINVAL);
}

} // namespace rekindle::doctor
