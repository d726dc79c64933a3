#pragma once
/// Random access to untrusted bytes. Reads are copies, so a file that shrinks in the meantime gives a short
/// read and not a fault; a file of many gigabytes costs only what is actually read.

#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

namespace rekindle::doctor {

/// Not thread-safe.
class ByteSource {
  public:
    virtual ~ByteSource() = default;
    virtual std::uint64_t size() const noexcept = 0;
    /// Copies from `offset` and returns the number of bytes: fewer than requested only at the end of the
    /// data. Throws Error when the file cannot be read.
    virtual std::size_t read(std::uint64_t offset, std::span<std::byte> into) const = 0;
};

/// Bytes in memory; they must outlive the object.
class MemorySource final : public ByteSource {
  public:
    explicit MemorySource(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}
    std::uint64_t size() const noexcept override { return bytes_.size(); }
    std::size_t read(std::uint64_t offset, std::span<std::byte> into) const override;

  private:
    std::span<const std::byte> bytes_;
};

/// A regular file. Small reads close to one another share one system call.
class FileSource final : public ByteSource {
  public:
    /// Throws Error when the path is not a regular file or cannot be opened; never waits for a pipe or a
    /// device.
    explicit FileSource(const std::filesystem::path& path);
    std::uint64_t size() const noexcept override { return size_; }
    std::size_t read(std::uint64_t offset, std::span<std::byte> into) const override;

  private:
    std::size_t read_from_file(std::uint64_t offset, std::span<std::byte> into) const;

    std::string path_;
    FileDescriptor descriptor_;
    std::uint64_t size_ = 0;
    mutable std::array<std::byte, 4096> window_;
    mutable std::uint64_t window_begin_ = 0;
    mutable std::size_t window_size_ = 0;
};

/// A part of a source: [begin, end).
struct ByteRange {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t size() const noexcept { return end - begin; }
};

/// A number as stored in the file (little-endian), or nothing when the file ends before it.
template <class T>
    requires std::is_trivially_copyable_v<T>
std::optional<T> read_value(const ByteSource& source, std::uint64_t offset) {
    static_assert(std::endian::native == std::endian::little);
    T value;
    if (source.read(offset, std::as_writable_bytes(std::span(&value, 1))) != sizeof value)
        return std::nullopt;
    return value;
}

/// At most `size` bytes from `offset`.
std::string read_text(const ByteSource& source, std::uint64_t offset, std::size_t size);

/// The error for bytes of a file that are not what they claim to be.
Error damaged(std::uint64_t offset, const std::string& reason);

} // namespace rekindle::doctor
