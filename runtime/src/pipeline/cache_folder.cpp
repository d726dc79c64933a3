#include "pipeline/cache_folder.h"

#include "pipeline/fnv1a.h"

#include <rekindle/runtime/error.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rekindle::runtime {

namespace {

constexpr std::uint64_t largest_file = 1ull << 30;

struct Header {
    std::array<char, 8> kind{};
    std::uint64_t bytes = 0;
    std::uint64_t checksum = 0;
};
static_assert(sizeof(Header) == 24);

std::uint64_t checksum_of(std::span<const std::byte> bytes) {
    Fnv1a hash;
    hash.add(bytes);
    return hash.value();
}

[[noreturn]] void failed(const std::string& what, const std::filesystem::path& path, int code) {
    throw Error(what + " " + path.string() + ": " + std::strerror(code));
}

class Descriptor {
  public:
    Descriptor(const std::filesystem::path& path, int flags, const std::string& what)
        : path_(path), descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {
        if (descriptor_ < 0)
            failed(what, path, errno);
    }
    ~Descriptor() { ::close(descriptor_); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    std::uint64_t size() const {
        struct stat status {};
        if (::fstat(descriptor_, &status) != 0)
            failed("cannot read", path_, errno);
        return static_cast<std::uint64_t>(status.st_size);
    }
    /// Reads until `bytes` is full; false if the file ends earlier.
    bool read(std::span<std::byte> bytes) const {
        while (!bytes.empty()) {
            const ssize_t count = ::read(descriptor_, bytes.data(), bytes.size());
            if (count < 0 && errno == EINTR)
                continue;
            if (count < 0)
                failed("cannot read", path_, errno);
            if (count == 0)
                return false;
            bytes = bytes.subspan(static_cast<std::size_t>(count));
        }
        return true;
    }
    void write(std::span<const std::byte> bytes) const {
        while (!bytes.empty()) {
            const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
            if (count < 0 && errno == EINTR)
                continue;
            if (count < 0)
                failed("cannot write", path_, errno);
            bytes = bytes.subspan(static_cast<std::size_t>(count));
        }
    }
    void sync() const {
        if (::fsync(descriptor_) != 0)
            failed("cannot write", path_, errno);
    }

  private:
    const std::filesystem::path& path_;
    int descriptor_;
};

/// The file is removed again unless it was moved to its target.
class TemporaryFile {
  public:
    explicit TemporaryFile(const std::filesystem::path& target) : path_(target) {
        static std::atomic<unsigned> count{0};
        path_ += ".tmp." + std::to_string(::getpid()) + "." + std::to_string(count++);
    }
    ~TemporaryFile() {
        if (!moved_)
            ::unlink(path_.c_str());
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;

    const std::filesystem::path& path() const noexcept { return path_; }
    void move_to(const std::filesystem::path& target) {
        if (::rename(path_.c_str(), target.c_str()) != 0)
            failed("cannot write", target, errno);
        moved_ = true;
    }

  private:
    std::filesystem::path path_;
    bool moved_ = false;
};

std::filesystem::path folder_of(const char* variable) {
    const char* value = std::getenv(variable);
    return value == nullptr ? std::filesystem::path{} : std::filesystem::path(value);
}

} // namespace

std::filesystem::path cache_folder(const std::filesystem::path& asked) {
    if (!asked.empty())
        return asked;
    if (auto own = folder_of("REKINDLE_CACHE_DIR"); !own.empty())
        return own;
    // The XDG Base Directory Specification requires relative paths to be ignored.
    if (auto cache = folder_of("XDG_CACHE_HOME"); cache.is_absolute())
        return cache / "rekindle";
    if (auto home = folder_of("HOME"); home.is_absolute())
        return home / ".cache" / "rekindle";
    return {};
}

std::string file_name_of(const DeviceInfo& device) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const std::uint8_t byte : device.pipeline_cache_uuid) {
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    for (const std::uint32_t number : {device.driver_version, device.vendor_id, device.device_id})
        text += "-" + std::to_string(number);
    return text + ".bin";
}

CacheFile::CacheFile(std::filesystem::path path, std::string_view kind)
    : path_(std::move(path)), kind_(kind) {}

std::optional<std::vector<std::byte>> CacheFile::read() const {
    if (std::error_code error; !std::filesystem::exists(path_, error))
        return std::nullopt;
    const Descriptor file(path_, O_RDONLY, "cannot read");
    Header header;
    const std::uint64_t size = file.size();
    if (size < sizeof header || size > largest_file ||
        !file.read(std::as_writable_bytes(std::span(&header, 1))))
        throw Error(path_.string() + " is damaged: it has no header");
    if (std::string_view(header.kind.data(), header.kind.size()) != kind_)
        throw Error(path_.string() + " is damaged or belongs to another version");
    if (header.bytes != size - sizeof header)
        throw Error(path_.string() + " is damaged: its size is wrong");
    std::vector<std::byte> payload(header.bytes);
    if (!file.read(payload) || checksum_of(payload) != header.checksum)
        throw Error(path_.string() + " is damaged: its checksum is wrong");
    return payload;
}

void CacheFile::write(std::span<const std::byte> payload) const {
    std::error_code error;
    std::filesystem::create_directories(path_.parent_path(), error);
    if (error)
        throw Error("cannot create the folder " + path_.parent_path().string() + ": " + error.message());
    Header header;
    kind_.copy(header.kind.data(), header.kind.size());
    header.bytes = payload.size();
    header.checksum = checksum_of(payload);
    TemporaryFile temporary(path_);
    {
        const Descriptor file(temporary.path(), O_WRONLY | O_CREAT | O_EXCL, "cannot write");
        file.write(std::as_bytes(std::span(&header, 1)));
        file.write(payload);
        file.sync();
    }
    temporary.move_to(path_);
    const std::filesystem::path folder = path_.parent_path();
    Descriptor(folder, O_RDONLY | O_DIRECTORY, "cannot write").sync();
}

std::optional<std::filesystem::file_time_type> CacheFile::written() const noexcept {
    std::error_code error;
    const auto time = std::filesystem::last_write_time(path_, error);
    return error ? std::nullopt : std::optional(time);
}

void CacheFile::touch() const noexcept {
    const auto now = std::filesystem::file_time_type::clock::now();
    std::error_code ignored; // a read-only folder
    if (const auto before = written(); before && now - *before > std::chrono::hours(24))
        std::filesystem::last_write_time(path_, now, ignored);
}

void CacheFile::remove_unused(std::chrono::hours since) const noexcept {
    const auto limit = std::filesystem::file_time_type::clock::now() - since;
    std::error_code error;
    std::filesystem::directory_iterator files(path_.parent_path(), error);
    for (const std::filesystem::directory_iterator end; !error && files != end; files.increment(error)) {
        std::error_code ignored;
        if (files->path() != path_ && files->is_regular_file(ignored) &&
            files->last_write_time(ignored) < limit && !ignored)
            std::filesystem::remove(files->path(), ignored);
    }
}

} // namespace rekindle::runtime
