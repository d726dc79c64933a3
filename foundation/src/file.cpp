#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace rekindle {

namespace {

constexpr std::size_t write_buffer_size = 1 << 20;
constexpr unsigned max_temporary_names = 1000;

std::string reason(int error_number) {
    return std::generic_category().message(error_number);
}

Error write_error(const std::filesystem::path& path, int error_number) {
    Error error("cannot write: " + reason(error_number));
    error.at(path.string());
    if (error_number == ENOSPC || error_number == EDQUOT)
        error.hint(
            "Free up space on that disk and run the same command again; existing files are unchanged.");
    else if (error_number == EACCES || error_number == EROFS || error_number == EPERM)
        error.hint("Choose a folder that you can write to.");
    return error;
}

void sync_directory(const std::filesystem::path& directory) {
    const FileDescriptor descriptor(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    // Some file systems reject fsync on folders; the rename is then as durable as they allow.
    if (!descriptor ||
        (::fsync(descriptor.get()) != 0 && errno != EINVAL && errno != ENOTSUP && errno != EBADF))
        throw write_error(directory, errno);
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
    return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

} // namespace

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
        if (descriptor_ >= 0)
            ::close(descriptor_);
        descriptor_ = other.release();
    }
    return *this;
}

FileDescriptor::~FileDescriptor() {
    if (descriptor_ >= 0)
        ::close(descriptor_);
}

int FileDescriptor::release() noexcept {
    return std::exchange(descriptor_, -1);
}

FileDescriptor FileDescriptor::open_for_reading(const std::filesystem::path& path) {
    FileDescriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!descriptor)
        throw usage_error("cannot open: " + reason(errno)).at(path.string());
    return descriptor;
}

MappedFile::MappedFile(const std::filesystem::path& path) {
    const FileDescriptor descriptor = FileDescriptor::open_for_reading(path);
    struct stat status {};
    if (::fstat(descriptor.get(), &status) != 0)
        throw usage_error("cannot read: " + reason(errno)).at(path.string());
    if (!S_ISREG(status.st_mode))
        throw usage_error("not a regular file").at(path.string());
    size_ = static_cast<std::size_t>(status.st_size);
    if (size_ == 0)
        return;
    void* address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor.get(), 0);
    if (address == MAP_FAILED)
        throw usage_error("cannot map: " + reason(errno)).at(path.string());
    data_ = static_cast<const std::byte*>(address);
    ::madvise(address, size_, MADV_SEQUENTIAL);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
}

MappedFile::~MappedFile() {
    if (data_)
        ::munmap(const_cast<std::byte*>(data_), size_); // NOLINT(cppcoreguidelines-pro-type-const-cast)
}

void MappedFile::release(std::size_t begin, std::size_t end) const noexcept {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    begin = (begin + page - 1) / page * page;
    end = std::min(end, size_) == size_ ? (size_ + page - 1) / page * page : end / page * page;
    if (begin < end)
        ::madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED); // NOLINT
}

std::string read_file(const std::filesystem::path& path) {
    const FileDescriptor descriptor = FileDescriptor::open_for_reading(path);
    std::string content;
    for (;;) {
        const std::size_t old_size = content.size();
        content.resize(old_size + (1 << 16));
        const ssize_t count = ::read(descriptor.get(), content.data() + old_size, 1 << 16);
        if (count < 0 && errno != EINTR)
            throw usage_error("cannot read: " + reason(errno)).at(path.string());
        content.resize(old_size + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
        if (count == 0)
            return content;
    }
}

AtomicFile::AtomicFile(std::filesystem::path target) : target_(std::move(target)) {
    // Creates its own name instead of using mkstemp, so that open() applies the umask, which cannot be read
    // without a race.
    for (unsigned attempt = 0; !descriptor_; ++attempt) {
        temporary_ =
            folder_of(target_) / ("." + target_.filename().string() + "." + std::to_string(::getpid()) + "-" +
                                  std::to_string(attempt) + ".part");
        descriptor_ =
            FileDescriptor(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
        if (!descriptor_ && (errno != EEXIST || attempt == max_temporary_names))
            throw write_error(target_, errno);
    }
    buffer_.reserve(write_buffer_size);
}

AtomicFile::~AtomicFile() {
    if (descriptor_)
        ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::string_view text) {
    write(std::as_bytes(std::span<const char>(text.data(), text.size())));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    if (buffer_.size() >= write_buffer_size)
        flush();
}

void AtomicFile::flush() {
    std::span<const std::byte> rest(buffer_);
    while (!rest.empty()) {
        const ssize_t count = ::write(descriptor_.get(), rest.data(), rest.size());
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            throw write_error(target_, errno);
        rest = rest.subspan(static_cast<std::size_t>(count));
        written_ += static_cast<std::uint64_t>(count);
    }
    buffer_.clear();
}

void AtomicFile::commit() {
    flush();
    if (::fsync(descriptor_.get()) != 0)
        throw write_error(target_, errno);
    if (::rename(temporary_.c_str(), target_.c_str()) != 0)
        throw write_error(target_, errno);
    descriptor_ = FileDescriptor();
    sync_directory(folder_of(target_));
}

void write_file_atomically(const std::filesystem::path& path, std::string_view content) {
    AtomicFile file(path);
    file.write(content);
    file.commit();
}

FileLock::FileLock(const std::filesystem::path& path, std::chrono::milliseconds most)
    : descriptor_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (!descriptor_)
        throw write_error(path, errno);
    constexpr std::chrono::milliseconds pause(10);
    const auto until = std::chrono::steady_clock::now() + most;
    while (::flock(descriptor_.get(), LOCK_EX | LOCK_NB) != 0 && (errno == EWOULDBLOCK || errno == EINTR)) {
        if (std::chrono::steady_clock::now() >= until)
            throw Error("another process still holds this lock")
                .at(path.string())
                .hint("End that process; `fuser` followed by this path prints its number.");
        std::this_thread::sleep_for(pause);
    }
}

void ensure_directory(const std::filesystem::path& path) {
    // Does not use the overload with an error_code: in libstdc++ 12 it throws anyway if a file is in the way.
    try {
        std::filesystem::create_directories(path);
    } catch (const std::filesystem::filesystem_error& error) {
        throw Error("cannot create the folder: " + error.code().message())
            .at(path.string())
            .hint("Choose a folder that you can write to.");
    }
}

} // namespace rekindle
