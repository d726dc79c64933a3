#pragma once
/// Files: RAII descriptors, mapped input, locks, and atomic writes that leave either the old file or the
/// complete new one.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle {

/// Owns a POSIX file descriptor.
class FileDescriptor {
  public:
    FileDescriptor() noexcept = default;
    explicit FileDescriptor(int descriptor) noexcept : descriptor_(descriptor) {}
    FileDescriptor(FileDescriptor&& other) noexcept : descriptor_(other.release()) {}
    FileDescriptor& operator=(FileDescriptor&& other) noexcept;
    ~FileDescriptor();
    int get() const noexcept { return descriptor_; }
    explicit operator bool() const noexcept { return descriptor_ >= 0; }
    int release() noexcept;

    /// Opens for reading. On failure throws Error (status usage) naming the path and the reason.
    static FileDescriptor open_for_reading(const std::filesystem::path& path);

  private:
    int descriptor_ = -1;
};

/// A file mapped read-only. The bytes are valid as long as the object lives. An empty file gives an empty
/// span.
class MappedFile {
  public:
    explicit MappedFile(const std::filesystem::path& path);
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;
    ~MappedFile();

    std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }
    std::string_view text() const noexcept { return {reinterpret_cast<const char*>(data_), size_}; }
    /// Tells the kernel that [begin, end) is no longer needed: its pages leave this process's resident set.
    /// Reading them later works; they are loaded again.
    void release(std::size_t begin, std::size_t end) const noexcept;

  private:
    const std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

/// The whole file as a string. Throws Error naming the path.
std::string read_file(const std::filesystem::path& path);

/// Collects output in a temporary file in the same folder; commit() puts it in place: write, fsync, rename,
/// fsync of the folder. If destroyed without commit(), the temporary file is removed and the old file stays
/// unchanged. Every failure (full disk, read-only folder) throws Error naming the file and the reason. Not
/// thread-safe.
class AtomicFile {
  public:
    explicit AtomicFile(std::filesystem::path target);
    AtomicFile(AtomicFile&&) noexcept = default;
    AtomicFile& operator=(AtomicFile&&) = delete;
    ~AtomicFile();

    void write(std::span<const std::byte> bytes);
    void write(std::string_view text);
    /// Position of the next write, in bytes from the start.
    std::uint64_t position() const noexcept { return written_ + buffer_.size(); }
    void commit();

  private:
    void flush();
    std::filesystem::path target_;
    std::filesystem::path temporary_;
    FileDescriptor descriptor_;
    std::vector<std::byte> buffer_;
    std::uint64_t written_ = 0;
};

/// AtomicFile with one write.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

/// An exclusive lock, held until the object is destroyed or the process ends. Creates an empty file at the
/// path and never deletes it. Excludes other FileLocks on the same path, including those of this process, and
/// nothing else. On file systems that do not support locks, it locks nothing.
class FileLock {
  public:
    /// Waits until the lock is free. Throws Error naming the path if the file cannot be created, or if the
    /// lock is still taken after `most`.
    FileLock(const std::filesystem::path& path, std::chrono::milliseconds most);

  private:
    FileDescriptor descriptor_;
};

/// Creates the folder and its parents. Throws Error naming the path and the reason.
void ensure_directory(const std::filesystem::path& path);

} // namespace rekindle
