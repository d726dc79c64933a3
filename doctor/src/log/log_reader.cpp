#include "log/clean_line.h"

#include <rekindle/doctor/diagnosis.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rekindle::doctor {
namespace {

constexpr std::size_t head_bytes = std::size_t{1} << 20;
constexpr std::size_t tail_bytes = std::size_t{8} << 20;
constexpr std::size_t head_lines = 30'000;
constexpr std::size_t tail_lines = 240'000; ///< so that a file of very short lines needs little memory

/// The first and the last bytes of text that may be too long for memory.
struct Ends {
    std::string head;
    std::string tail;        ///< "" when the head is the whole text
    std::uint64_t bytes = 0; ///< size of the whole text
    std::uint64_t lines_before_tail = 0;
    bool lines_counted = true; ///< lines_before_tail is known
    bool shortened = false;
};

std::size_t read_some(int descriptor, char* into, std::size_t count) {
    for (;;) {
        const ssize_t got = ::read(descriptor, into, count);
        if (got >= 0)
            return static_cast<std::size_t>(got);
        if (errno != EINTR)
            return 0; // what was read so far is the log
    }
}

void read_at(int descriptor, std::uint64_t offset, std::size_t count, std::string& into) {
    into.resize(count);
    std::size_t done = 0;
    while (done < count) {
        const ssize_t got =
            ::pread(descriptor, into.data() + done, count - done, static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        done += static_cast<std::size_t>(got);
    }
    into.resize(done);
}

std::uint64_t count_lines(std::string_view text) {
    return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

/// Holes in a file that was truncated while it was being written are runs of zero bytes: each ends a line.
void close_holes(std::string& text) {
    static constexpr std::string_view hole("\0\0", 2);
    std::size_t out = text.find(hole);
    if (out == std::string::npos)
        return;
    for (std::size_t in = out; in < text.size();) {
        const std::size_t end = std::min(text.find_first_not_of('\0', in), text.size());
        if (end - in < hole.size()) {
            text[out++] = text[in++];
            continue;
        }
        text[out++] = '\n';
        in = end;
    }
    text.resize(out);
}

/// Programs, images and archives are not logs. Text with colors, progress lines or another code page is.
void refuse_binary(std::string_view beginning, const std::string& path) {
    constexpr std::size_t sample = 256 << 10;
    constexpr std::size_t max_percent = 5;
    const std::string_view head = beginning.substr(0, sample);
    const auto is_control = [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x20 && byte != 0 &&
               std::string_view("\t\n\r\b\f\x1b").find(c) == std::string_view::npos;
    };
    const auto controls = static_cast<std::size_t>(std::count_if(head.begin(), head.end(), is_control));
    if (controls * 100 > head.size() * max_percent)
        throw usage_error("this is not text: many of its bytes are control characters")
            .at(path)
            .expected("a log file");
}

/// The tail starts in the middle of a line: that line is skipped.
void drop_first_line(Ends& ends) {
    close_holes(ends.tail);
    const std::size_t end = ends.tail.find('\n');
    // Without a line feed it is all one line, of which only the end is available.
    if (end == std::string::npos)
        return;
    ends.tail.erase(0, end + 1);
    ++ends.lines_before_tail;
}

Ends ends_of_large_file(int descriptor, std::uint64_t size) {
    Ends ends;
    ends.bytes = size;
    ends.shortened = true;
    ends.lines_counted = false;
    read_at(descriptor, 0, head_bytes, ends.head);
    read_at(descriptor, size - tail_bytes, tail_bytes, ends.tail);
    drop_first_line(ends);
    return ends;
}

Ends ends_of_text(std::string_view text) {
    Ends ends;
    ends.bytes = text.size();
    if (text.size() <= head_bytes + tail_bytes) {
        ends.head = text;
        return ends;
    }
    ends.shortened = true;
    ends.head = text.substr(0, head_bytes);
    ends.tail = text.substr(text.size() - tail_bytes);
    ends.lines_before_tail = count_lines(text.substr(0, text.size() - tail_bytes));
    drop_first_line(ends);
    return ends;
}

/// Windows PowerShell writes UTF-16; non-ASCII characters in it become "?".
bool is_utf16(std::string_view text) noexcept {
    return text.size() >= 2 &&
           ((text[0] == '\xff' && text[1] == '\xfe') || (text[0] == '\xfe' && text[1] == '\xff'));
}

void narrow(std::string& text, bool little_endian) {
    std::size_t out = 0;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
        const char low = text[little_endian ? i : i + 1];
        const char high = text[little_endian ? i + 1 : i];
        text[out++] = high == '\0' && static_cast<unsigned char>(low) < 0x80U ? low : '?';
    }
    text.resize(out);
}

void narrow(Ends& ends) {
    const bool little_endian = ends.head[0] == '\xff';
    ends.head.erase(0, 2);
    narrow(ends.head, little_endian);
    // In UTF-16LE a line feed is followed by its zero byte.
    if (little_endian && !ends.tail.empty() && ends.tail[0] == '\0')
        ends.tail.erase(0, 1);
    narrow(ends.tail, little_endian);
}

void append_cleaned(std::string_view raw, std::uint64_t number, std::vector<LogText::Line>& lines) {
    for (std::string& text : clean_line(raw))
        lines.push_back({number, std::move(text)});
}

/// Appends the lines of `text`, numbered from `first` (0: unknown), up to `limit` of them. Returns whether
/// all of them fit.
bool append_first_lines(std::string_view text, std::uint64_t first, std::size_t limit,
                        std::vector<LogText::Line>& lines) {
    std::uint64_t number = first;
    std::size_t begin = 0;
    while (begin < text.size()) {
        if (lines.size() >= limit)
            return false;
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        append_cleaned(text.substr(begin, end - begin), number, lines);
        number += first == 0 ? 0U : 1U;
        begin = end + 1;
    }
    return true;
}

/// The same for the last `limit` lines.
bool append_last_lines(std::string_view text, std::uint64_t first, std::size_t limit,
                       std::vector<LogText::Line>& lines) {
    std::size_t begin = text.size();
    std::size_t left = limit;
    while (begin > 0 && left > 0) {
        const std::size_t feed = begin >= 2 ? text.rfind('\n', begin - 2) : std::string_view::npos;
        begin = feed == std::string_view::npos ? 0 : feed + 1;
        --left;
    }
    const std::uint64_t number = first == 0 ? 0 : first + count_lines(text.substr(0, begin));
    append_first_lines(text.substr(begin), number, lines.size() + 2 * limit, lines);
    return begin == 0;
}

/// Splits text that has more lines than are kept into a head and a tail.
void split_head(Ends& ends) {
    const std::size_t about = std::min(ends.head.size() / 8, head_bytes);
    // npos + 1 is 0: when no line ends there, the whole text is the tail.
    const std::size_t cut = ends.head.find('\n', about) + 1;
    ends.tail = ends.head.substr(cut);
    ends.head.resize(cut);
    ends.lines_before_tail = count_lines(ends.head);
}

LogText lines_of(Ends ends, std::string name) {
    if (is_utf16(ends.head))
        narrow(ends);
    close_holes(ends.head);
    LogText log;
    log.name = std::move(name);
    log.bytes = ends.bytes;
    log.shortened = ends.shortened;
    if (ends.tail.empty()) {
        // Small enough for memory, but possibly with too many lines: then the end counts.
        if (count_lines(ends.head) <= tail_lines) {
            append_first_lines(ends.head, 1, 2 * tail_lines, log.lines);
            return log;
        }
        log.shortened = true;
        split_head(ends);
    }
    append_first_lines(ends.head, 1, head_lines, log.lines);
    const std::uint64_t first = ends.lines_counted ? ends.lines_before_tail + 1 : 0;
    append_last_lines(ends.tail, first, tail_lines, log.lines);
    return log;
}

/// For pipes, /proc files and everything else without a size.
LogCollector collect_stream(int descriptor, std::string_view begun) {
    LogCollector collector;
    collector.append(begun);
    std::array<char, 64 << 10> buffer{};
    while (const std::size_t got = read_some(descriptor, buffer.data(), buffer.size()))
        collector.append(std::string_view(buffer.data(), got));
    return collector;
}

/// Opens a named pipe, but does not wait forever for a writer. Returns the first byte, if there is one.
std::string open_pipe(const std::filesystem::path& path, FileDescriptor& file) {
    constexpr int patience_ms = 5000;
    file = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file)
        throw usage_error(std::strerror(errno)).at(path.string());
    pollfd wait{file.get(), POLLIN, 0};
    ::poll(&wait, 1, patience_ms);
    char byte = 0;
    const ssize_t got = ::read(file.get(), &byte, 1);
    if (got == 0)
        throw usage_error("nobody writes to this pipe")
            .at(path.string())
            .hint("start the program that writes to it first, or give a file");
    const int flags = ::fcntl(file.get(), F_GETFL);
    ::fcntl(file.get(), F_SETFL, flags & ~O_NONBLOCK); // there is a writer now, so reads do not block forever
    return got == 1 ? std::string(1, byte) : "";
}

} // namespace

LogText read_log(const std::filesystem::path& path) {
    struct stat before {};
    const bool pipe = ::stat(path.c_str(), &before) == 0 && S_ISFIFO(before.st_mode);
    FileDescriptor file;
    std::string begun;
    if (pipe)
        begun = open_pipe(path, file);
    else
        file = FileDescriptor::open_for_reading(path);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0)
        throw usage_error(std::strerror(errno)).at(path.string());
    if (S_ISDIR(status.st_mode))
        throw usage_error("is a folder").at(path.string()).expected("a log file");
    const auto size = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
    if (S_ISREG(status.st_mode) && size > head_bytes + tail_bytes) {
        Ends ends = ends_of_large_file(file.get(), size);
        refuse_binary(ends.head, path.string());
        return lines_of(std::move(ends), path.string());
    }
    const LogCollector collector = collect_stream(file.get(), begun);
    refuse_binary(collector.beginning(), path.string());
    return collector.text(path.string());
}

void LogCollector::append(std::string_view bytes) {
    bytes_ += bytes.size();
    const std::size_t to_head = std::min(bytes.size(), head_bytes - head_.size());
    head_.append(bytes.substr(0, to_head));
    tail_.append(bytes.substr(to_head));
    if (tail_.size() <= 2 * tail_bytes)
        return;
    const std::size_t surplus = tail_.size() - tail_bytes;
    lines_before_tail_ += count_lines(std::string_view(tail_).substr(0, surplus));
    tail_.erase(0, surplus);
    shortened_ = true;
}

LogText LogCollector::text(std::string name) const {
    Ends ends;
    ends.bytes = bytes_;
    ends.shortened = shortened_;
    ends.head = head_;
    if (shortened_) {
        ends.tail = tail_;
        ends.lines_before_tail = lines_before_tail_ + count_lines(head_);
        drop_first_line(ends);
    } else {
        ends.head += tail_;
    }
    return lines_of(std::move(ends), std::move(name));
}

LogText log_from_text(std::string_view text, std::string name) {
    return lines_of(ends_of_text(text), std::move(name));
}

} // namespace rekindle::doctor
