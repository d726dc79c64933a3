#pragma once
/// Every read of a host goes through here. Paths are those of the host itself; with a root they are looked
/// up below it, and no link leads out of it. A read never blocks the program: it happens in a child
/// process, and a file that does not respond is skipped (the child is killed by its pid, and left behind if
/// it cannot die; a new one continues). Files are read to their end or to a limit, regardless of the size
/// that they report; FIFOs, sockets and devices are refused.

#include "file_service.h"
#include "reading_child.h"

#include <rekindle/doctor/fact.h>

#include <charconv>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

struct FolderEntry {
    std::string name;
    char kind = '?';    ///< 'd' folder, 'f' file, 'l' link, 'c' and 'b' devices, '?' anything else
    std::string target; ///< target of a link, as stored
};

struct FileStatus {
    int permissions = 0; ///< 07777
    bool device = false; ///< a character device
    int owner = 0;
    int group = 0;
    int major = 0;
    int minor = 0;
    std::uint64_t size = 0; ///< as the file claims
};

struct FileSystemSpace {
    std::uint64_t total = 0;
    std::uint64_t free = 0; ///< available to this user
};

/// "Permission denied" for EACCES and so on, and texts for the errors of file_service.h.
std::string reason_text(int error);

/// Not thread-safe. The child starts with the first request and ends with the object.
class HostFiles {
  public:
    struct Limits {
        std::chrono::milliseconds deadline{400}; ///< for one request
        /// For all requests that blocked; after that the deadline is 20 ms.
        std::chrono::milliseconds patience{1200};
        std::uint64_t bytes = 1 << 20; ///< maximum bytes of a file, unless the caller gives a limit
    };
    using Service = std::function<FileAnswer(const std::string& root, const FileRequest&)>;

    explicit HostFiles(std::string root = "/");
    /// `service` answers in the child; tests pass one that blocks.
    HostFiles(std::string root, Limits limits, Service service = answer_from_files);
    HostFiles(const HostFiles&) = delete;
    HostFiles& operator=(const HostFiles&) = delete;
    ~HostFiles();

    /// Whether this is the host on which the program runs: its root is "/".
    bool live() const noexcept { return root_.empty(); }

    /// The whole text. A file longer than the limit is not read ("longer than …").
    Fact<std::string> read(const std::string& path) { return read(path, limits_.bytes); }
    Fact<std::string> read(const std::string& path, std::uint64_t limit);
    /// At most `limit` bytes from `offset`; a negative offset counts from the end.
    Fact<std::string> read_part(const std::string& path, std::int64_t offset, std::uint64_t limit);
    /// The first line, trimmed; an empty one gives "empty".
    Fact<std::string> line(const std::string& path);
    /// All lines; none when the file cannot be read.
    std::vector<std::string> lines(const std::string& path);
    /// The first line as an integer, decimal or (base 16) with or without "0x".
    template <std::integral T>
    Fact<T> number(const std::string& path, int base = 10);

    /// Sorted by name, with numbers in names compared by value ("card2" before "card10").
    Fact<std::vector<FolderEntry>> list(const std::string& path);
    /// Names only; empty when the folder cannot be read.
    std::vector<std::string> names(const std::string& path);
    Fact<std::string> link(const std::string& path);
    Fact<std::string> resolve(const std::string& path);
    Fact<FileStatus> status(const std::string& path);
    Fact<FileSystemSpace> space(const std::string& path);
    bool exists(const std::string& path) { return status(path).known(); }
    /// True when this process may read and write the file; else unread with the reason.
    Fact<bool> usable(const std::string& path);
    /// Records of the kernel's ring buffer, in the form of /dev/kmsg.
    Fact<std::string> kernel_log();

  private:
    FileAnswer ask(const FileRequest& request, std::string& failure);
    template <class T>
    Fact<T> fact(const FileRequest& request, const std::function<T(const FileAnswer&)>& make);
    void give_up(const std::string& path, std::chrono::milliseconds waited);

    std::string root_; ///< without a trailing '/'; "" for the live host
    Limits limits_;
    Service service_;
    std::unique_ptr<ReadingChild> child_;
    std::chrono::milliseconds waited_{0}; ///< total time spent on requests that blocked
    /// Folders in which a file blocked: the others in them would, too.
    std::vector<std::string> blocked_folders_;
};

/// A fact derived from another: same source, same reason. `make` returns an optional; nullopt means "not
/// understood".
template <class T, class U, class Make>
Fact<T> derive(const Fact<U>& fact, Make&& make) {
    if (!fact.known())
        return Fact<T>::failed(fact.unread, fact.source);
    if (auto value = make(*fact))
        return Fact<T>(std::move(*value), fact.source);
    return Fact<T>::failed("not understood", fact.source);
}

/// An integer that makes up the whole text.
template <std::integral T>
std::optional<T> parse_number(std::string_view text, int base = 10) {
    if (base == 16 && (text.starts_with("0x") || text.starts_with("0X")))
        text.remove_prefix(2);
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

template <std::integral T>
Fact<T> HostFiles::number(const std::string& path, int base) {
    return derive<T>(line(path), [base](const std::string& text) { return parse_number<T>(text, base); });
}

} // namespace rekindle::doctor
