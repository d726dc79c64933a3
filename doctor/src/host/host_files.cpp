#include "host_files.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <system_error>

namespace rekindle::doctor {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds impatient_deadline{20};
constexpr int broken_connection = -100; ///< the child has ended
constexpr int deadline_passed = -101;

struct RequestHead {
    std::uint64_t operation = 0, path_length = 0, limit = 0;
    std::int64_t offset = 0;
};
struct AnswerHead {
    std::int64_t error = 0;
    std::uint64_t more = 0, length = 0;
};

bool send_all(int socket, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

bool receive_all(int socket, void* data, std::size_t size) {
    char* bytes = static_cast<char*>(data);
    while (size > 0) {
        const ssize_t got = ::recv(socket, bytes, size, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        bytes += got;
        size -= static_cast<std::size_t>(got);
    }
    return true;
}

template <class T>
std::string_view raw_bytes(const T& value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// A message is a header, which gives the length of the rest, and the rest. Returns 0, broken_connection or
/// deadline_passed.
int receive_answer(int socket, Clock::time_point deadline, FileAnswer& answer) {
    std::string message;
    std::array<char, 65536> block;
    AnswerHead head;
    while (message.size() < sizeof head || message.size() - sizeof head < head.length) {
        const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
        pollfd readable{.fd = socket, .events = POLLIN, .revents = 0};
        const int ready = ::poll(&readable, 1, std::max<int>(0, static_cast<int>(left.count())));
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0)
            return deadline_passed;
        const ssize_t got = ready < 0 ? -1 : ::recv(socket, block.data(), block.size(), 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return broken_connection;
        message.append(block.data(), static_cast<std::size_t>(got));
        if (message.size() >= sizeof head)
            std::memcpy(&head, message.data(), sizeof head);
    }
    answer.error = static_cast<int>(head.error);
    answer.more = head.more != 0;
    answer.data = message.substr(sizeof head);
    return 0;
}

void serve(int socket, const std::string& root, const HostFiles::Service& service) {
    RequestHead head;
    while (receive_all(socket, &head, sizeof head)) {
        FileRequest request;
        request.operation = static_cast<FileOperation>(head.operation);
        request.path.resize(head.path_length);
        request.offset = head.offset;
        request.limit = head.limit;
        if (!receive_all(socket, request.path.data(), request.path.size()))
            break;
        const FileAnswer answer = service(root, request);
        const AnswerHead reply{answer.error, answer.more, answer.data.size()};
        if (!send_all(socket, std::string(raw_bytes(reply)) + answer.data))
            break;
    }
}

std::string folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::string without_trailing_slash(std::string root) {
    while (root.ends_with('/'))
        root.pop_back();
    return root;
}

FileNumbers numbers_of(const FileAnswer& answer) {
    FileNumbers numbers;
    std::memcpy(&numbers, answer.data.data(), std::min(sizeof numbers, answer.data.size()));
    return numbers;
}

std::vector<FolderEntry> entries_of(std::string_view data) {
    std::vector<FolderEntry> entries;
    while (!data.empty()) {
        const std::size_t name_end = data.find('\0');
        const std::size_t target_end = data.find('\0', name_end + 1);
        if (name_end == std::string_view::npos || target_end == std::string_view::npos)
            break;
        entries.push_back({std::string(data.substr(1, name_end - 1)), data.front(),
                           std::string(data.substr(name_end + 1, target_end - name_end - 1))});
        data.remove_prefix(target_end + 1);
    }
    std::sort(entries.begin(), entries.end(), [](const FolderEntry& a, const FolderEntry& b) {
        const int order = ::strverscmp(a.name.c_str(), b.name.c_str());
        return order < 0;
    });
    return entries;
}

} // namespace

std::string reason_text(int error) {
    switch (error) {
    case not_a_regular_file:
        return "not a regular file";
    case too_many_entries:
        return "too many entries";
    case broken_connection:
        return "the reading process ended";
    default:
        return std::generic_category().message(error);
    }
}

HostFiles::HostFiles(std::string root) : HostFiles(std::move(root), Limits{}) {}

HostFiles::HostFiles(std::string root, Limits limits, Service service)
    : root_(without_trailing_slash(std::move(root))), limits_(limits), service_(std::move(service)) {}

HostFiles::~HostFiles() = default;

void HostFiles::give_up(const std::string& path, milliseconds waited) {
    child_.reset();
    waited_ += waited;
    blocked_folders_.push_back(folder_of(path));
}

FileAnswer HostFiles::ask(const FileRequest& request, std::string& failure) {
    const auto blocked = std::find(blocked_folders_.begin(), blocked_folders_.end(), folder_of(request.path));
    if (blocked != blocked_folders_.end()) {
        failure = "skipped: another file in this folder did not respond";
        return {};
    }
    if (!child_)
        child_ = std::make_unique<ReadingChild>([this](int socket) { serve(socket, root_, service_); });
    if (child_->error() != 0) {
        failure = fmt::format("no process to read it: {}", reason_text(child_->error()));
        child_.reset();
        return {};
    }
    const milliseconds patience = waited_ < limits_.patience ? limits_.deadline : impatient_deadline;
    const auto deadline = Clock::now() + patience;
    const RequestHead head{static_cast<std::uint64_t>(request.operation), request.path.size(), request.limit,
                           request.offset};
    FileAnswer answer;
    const int socket = child_->socket();
    const bool sent = send_all(socket, std::string(raw_bytes(head)) + request.path);
    const int state = sent ? receive_answer(socket, deadline, answer) : broken_connection;
    if (state == deadline_passed) {
        failure = fmt::format("skipped: no response within {} ms", patience.count());
        give_up(request.path, patience);
    } else if (state == broken_connection) {
        failure = reason_text(state);
        child_.reset();
    }
    return answer;
}

template <class T>
Fact<T> HostFiles::fact(const FileRequest& request, const std::function<T(const FileAnswer&)>& make) {
    std::string failure;
    const FileAnswer answer = ask(request, failure);
    if (!failure.empty())
        return Fact<T>::failed(failure, request.path);
    if (answer.error != 0)
        return Fact<T>::failed(reason_text(answer.error), request.path);
    return Fact<T>(make(answer), request.path);
}

Fact<std::string> HostFiles::read(const std::string& path, std::uint64_t limit) {
    bool more = false;
    auto text = fact<std::string>({FileOperation::read, path, 0, limit}, [&](const FileAnswer& answer) {
        more = answer.more;
        return answer.data;
    });
    return more ? Fact<std::string>::failed("longer than " + format_bytes(limit), path) : text;
}

Fact<std::string> HostFiles::read_part(const std::string& path, std::int64_t offset, std::uint64_t limit) {
    return fact<std::string>({FileOperation::read, path, offset, limit},
                             [](const FileAnswer& answer) { return answer.data; });
}

Fact<std::string> HostFiles::line(const std::string& path) {
    Fact<std::string> text = read(path);
    if (!text)
        return text;
    const std::string_view first = trim(split(*text, '\n').front());
    if (first.empty())
        return Fact<std::string>::failed("empty", path);
    return {std::string(first), path};
}

std::vector<std::string> HostFiles::lines(const std::string& path) {
    const std::string text = read(path).value_or("");
    const std::vector<std::string_view> parts = split(text, '\n');
    return {parts.begin(), parts.end()};
}

Fact<std::vector<FolderEntry>> HostFiles::list(const std::string& path) {
    return fact<std::vector<FolderEntry>>({FileOperation::list, path, 0, 0},
                                          [](const FileAnswer& answer) { return entries_of(answer.data); });
}

std::vector<std::string> HostFiles::names(const std::string& path) {
    std::vector<std::string> names;
    for (FolderEntry& entry : list(path).value_or({}))
        names.push_back(std::move(entry.name));
    return names;
}

Fact<std::string> HostFiles::link(const std::string& path) {
    return fact<std::string>({FileOperation::link, path, 0, 0},
                             [](const FileAnswer& answer) { return answer.data; });
}

Fact<std::string> HostFiles::resolve(const std::string& path) {
    return fact<std::string>({FileOperation::resolve, path, 0, 0},
                             [](const FileAnswer& answer) { return answer.data; });
}

Fact<FileStatus> HostFiles::status(const std::string& path) {
    return fact<FileStatus>({FileOperation::status, path, 0, 0}, [](const FileAnswer& answer) {
        const FileNumbers numbers = numbers_of(answer);
        return FileStatus{.permissions = static_cast<int>(numbers.mode & 07777),
                          .device = S_ISCHR(static_cast<mode_t>(numbers.mode)),
                          .owner = static_cast<int>(numbers.owner),
                          .group = static_cast<int>(numbers.group),
                          .major = static_cast<int>(numbers.major),
                          .minor = static_cast<int>(numbers.minor),
                          .size = numbers.size};
    });
}

Fact<FileSystemSpace> HostFiles::space(const std::string& path) {
    return fact<FileSystemSpace>({FileOperation::space, path, 0, 0}, [](const FileAnswer& answer) {
        const FileNumbers numbers = numbers_of(answer);
        return FileSystemSpace{numbers.total, numbers.free};
    });
}

Fact<bool> HostFiles::usable(const std::string& path) {
    return fact<bool>({FileOperation::access, path, 0, 0}, [](const FileAnswer&) { return true; });
}

Fact<std::string> HostFiles::kernel_log() {
    return fact<std::string>({FileOperation::kernel_log, "/dev/kmsg", 0, 16 << 20},
                             [](const FileAnswer& answer) { return answer.data; });
}

} // namespace rekindle::doctor
