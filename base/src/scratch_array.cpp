#include <rekindle/base/scratch_array.h>
#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <system_error>
#include <unistd.h>

namespace rekindle {

namespace {

Error scratch_error(const std::filesystem::path& folder, std::size_t bytes, int error_number) {
    Error error(fmt::format("cannot create a temporary file of {}: {}", format_bytes(bytes),
                            std::generic_category().message(error_number)));
    error.at(folder.string());
    if (error_number == ENOSPC || error_number == EDQUOT)
        error.hint("Free up space on that disk or choose another folder for the output.");
    else if (error_number == EFBIG)
        error.hint("Raise the file size limit (ulimit -f) or choose another file system for the output.");
    else
        error.hint("Choose a folder that you can write to.");
    return error;
}

FileDescriptor make_unnamed_file(const std::filesystem::path& folder, std::size_t bytes) {
    std::string name = (folder / ".rekindle-scratch.XXXXXX").string();
    FileDescriptor file(::mkostemp(name.data(), O_CLOEXEC));
    if (!file)
        throw scratch_error(folder, bytes, errno);
    ::unlink(name.c_str());
    return file;
}

/// Growing a file beyond the process's limit raises SIGXFSZ, which kills the process unless it ignores the
/// signal.
bool exceeds_file_size_limit(std::size_t bytes) {
    rlimit limit{};
    return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
           bytes > limit.rlim_cur;
}

/// Returns 0 or the error number.
int take_blocks(const FileDescriptor& file, std::size_t bytes) {
    if (exceeds_file_size_limit(bytes))
        return EFBIG;
    int result = 0;
    do
        result = ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes));
    while (result == EINTR);
    return result;
}

} // namespace

ScratchMemory::ScratchMemory(std::size_t bytes, const std::filesystem::path& folder) {
    if (bytes == 0)
        return;
    if (folder.empty()) {
        data_ = static_cast<std::byte*>(std::calloc(bytes, 1)); // NOLINT(cppcoreguidelines-owning-memory)
        if (!data_)
            throw std::bad_alloc();
        return;
    }
    const FileDescriptor file = make_unnamed_file(folder, bytes);
    if (const int failure = take_blocks(file, bytes); failure != 0)
        throw scratch_error(folder, bytes, failure);
    void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (address == MAP_FAILED)
        throw scratch_error(folder, bytes, errno);
    data_ = static_cast<std::byte*>(address);
    mapped_bytes_ = bytes;
}

ScratchMemory::ScratchMemory(ScratchMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), mapped_bytes_(std::exchange(other.mapped_bytes_, 0)) {}

ScratchMemory& ScratchMemory::operator=(ScratchMemory&& other) noexcept {
    ScratchMemory taken(std::move(other));
    std::swap(data_, taken.data_);
    std::swap(mapped_bytes_, taken.mapped_bytes_);
    return *this;
}

ScratchMemory::~ScratchMemory() {
    if (mapped_bytes_ > 0)
        ::munmap(data_, mapped_bytes_);
    else
        std::free(data_); // NOLINT(cppcoreguidelines-owning-memory)
}

void ScratchMemory::release(std::size_t begin, std::size_t end) const noexcept {
    if (mapped_bytes_ == 0)
        return;
    // Both ends are rounded down, so that a scan in small blocks releases each page once, after it is
    // finished.
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    begin = begin / page * page;
    end = end == mapped_bytes_ ? end : end / page * page;
    if (begin < end)
        ::madvise(data_ + begin, end - begin, MADV_DONTNEED);
}

} // namespace rekindle
