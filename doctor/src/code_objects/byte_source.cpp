#include "code_objects/byte_source.h"

#include <rekindle/foundation/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace rekindle::doctor {

namespace {

Error read_error(const std::string& path, int error_number) {
    return usage_error(fmt::format("cannot read: {}", std::generic_category().message(error_number)))
        .at(path);
}

} // namespace

std::size_t MemorySource::read(std::uint64_t offset, std::span<std::byte> into) const {
    if (offset >= bytes_.size())
        return 0;
    const std::size_t count = std::min<std::size_t>(into.size(), bytes_.size() - offset);
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), count, into.begin());
    return count;
}

// O_NONBLOCK: opening a pipe would otherwise wait for a writer.
FileSource::FileSource(const std::filesystem::path& path)
    : path_(path.string()), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat status {};
    if (!descriptor_ || ::fstat(descriptor_.get(), &status) != 0)
        throw read_error(path_, errno);
    if (!S_ISREG(status.st_mode))
        throw usage_error("not a regular file").at(path_);
    size_ = static_cast<std::uint64_t>(status.st_size);
}

std::size_t FileSource::read_from_file(std::uint64_t offset, std::span<std::byte> into) const {
    std::size_t done = 0;
    while (done < into.size()) {
        const ssize_t count = ::pread(descriptor_.get(), into.data() + done, into.size() - done,
                                      static_cast<off_t>(offset + done));
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            throw read_error(path_, errno);
        if (count == 0)
            break;
        done += static_cast<std::size_t>(count);
    }
    return done;
}

std::size_t FileSource::read(std::uint64_t offset, std::span<std::byte> into) const {
    if (offset >= size_)
        return 0;
    into = into.first(std::min<std::uint64_t>(into.size(), size_ - offset));
    if (into.size() > window_.size() / 2)
        return read_from_file(offset, into);
    const bool inside = offset >= window_begin_ && offset + into.size() <= window_begin_ + window_size_;
    if (!inside) {
        window_size_ = 0;
        window_begin_ = offset;
        window_size_ = read_from_file(offset, window_);
    }
    const std::size_t count = std::min(into.size(), window_size_ - (offset - window_begin_));
    std::copy_n(window_.begin() + static_cast<std::ptrdiff_t>(offset - window_begin_), count, into.begin());
    return count;
}

std::string read_text(const ByteSource& source, std::uint64_t offset, std::size_t size) {
    if (offset >= source.size())
        return {};
    std::string text(std::min<std::uint64_t>(size, source.size() - offset), '\0');
    text.resize(source.read(offset, std::as_writable_bytes(std::span(text))));
    return text;
}

Error damaged(std::uint64_t offset, const std::string& reason) {
    return usage_error(reason).at(fmt::format("byte {}", offset));
}

} // namespace rekindle::doctor
