#pragma once
/// The side of HostFiles that touches the host. It runs in a child process, because that is the only way to
/// end a read that hangs inside a driver: a thread stuck there would keep the whole program from exiting.

#include <cstdint>
#include <string>

namespace rekindle::doctor {

enum class FileOperation : std::uint8_t {
    read,       ///< bytes of a regular file
    list,       ///< entries of a folder, with the targets of links
    link,       ///< target of a symbolic link
    resolve,    ///< the path after following all links
    status,     ///< mode, owner, size (links are followed)
    space,      ///< of the file system that holds the path
    access,     ///< whether the effective user may read and write; opens nothing
    kernel_log, ///< every record of /dev/kmsg
};

struct FileRequest {
    FileOperation operation = FileOperation::read;
    std::string path;        ///< absolute, as on the host itself
    std::int64_t offset = 0; ///< for read; negative: from the end
    std::uint64_t limit = 0; ///< for read and kernel_log: maximum number of bytes
};

/// Errors that have no errno.
constexpr int not_a_regular_file = -1;
constexpr int too_many_entries = -2;

struct FileAnswer {
    int error = 0;     ///< errno, or one of the above; 0: `data` is the answer
    bool more = false; ///< for read: there are more bytes after the limit
    /// Its form depends on the operation; file_service.cpp writes it, host_files.cpp reads it.
    std::string data;
};

/// The answers to `status` and `space`, as bytes.
struct FileNumbers {
    std::uint64_t mode = 0, owner = 0, group = 0, size = 0, major = 0, minor = 0;
    std::uint64_t total = 0, free = 0;
};

/// Answers one request about the host below `root`. Links, including absolute ones, never lead out of the
/// root. Opens nothing but regular files, folders and /dev/kmsg.
FileAnswer answer_from_files(const std::string& root, const FileRequest& request);

} // namespace rekindle::doctor
