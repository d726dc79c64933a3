#pragma once
/// Small files that outlive the process: pipelines, self-test results, and measurements.

#include <rekindle/foundation/file.h>
#include <rekindle/runtime/device.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::runtime {

/// `asked` if it is not empty, else REKINDLE_CACHE_DIR, XDG_CACHE_HOME/rekindle, HOME/.cache/rekindle; empty
/// if none of them is set.
std::filesystem::path cache_folder(const std::filesystem::path& asked);

/// File name for a device and driver build: its pipelineCacheUUID, driver version, vendor and device.
std::string file_name_of(const DeviceInfo& device);

/// A cache file and its header: a file of another kind or version, or with a wrong size or checksum, is not
/// used. Layout, little-endian: 8 bytes kind, 8 bytes payload size, 8 bytes FNV-1a of the payload, the
/// payload.
class CacheFile {
  public:
    /// `kind`: 8 characters that identify what the file is and its layout version.
    CacheFile(std::filesystem::path path, std::string_view kind);

    const std::filesystem::path& path() const noexcept { return path_; }
    /// The payload; nothing if the file does not exist. Throws Error when the file is damaged or cannot be
    /// read.
    std::optional<std::vector<std::byte>> read() const;
    /// Replaces the file atomically (temporary file, fsync, rename); creates its folder. Throws Error.
    void write(std::span<const std::byte> payload) const;
    /// Locks the file until the returned object is destroyed; other processes wait in their call of lock().
    /// Whoever reads the file, changes its contents and writes them back must hold the lock, or it may
    /// overwrite what another process has written meanwhile. The lock is a second file, with the suffix
    /// ".lock". Throws Error if the folder cannot be written, or if another process still holds the lock
    /// after `most`.
    FileLock lock(std::chrono::milliseconds most) const;
    /// When the file was written last; nothing if it does not exist.
    std::optional<std::filesystem::file_time_type> written() const noexcept;
    /// Marks the file as used today, which keeps remove_unused() from deleting it.
    void touch() const noexcept;
    /// Deletes other files in the folder that have not been used for that long, such as those of older driver
    /// builds. Keeps locks.
    void remove_unused(std::chrono::hours since) const noexcept;

  private:
    std::filesystem::path path_;
    std::string kind_;
};

} // namespace rekindle::runtime
