#include "pipeline/cache_folder.h"

#include <rekindle/foundation/file.h>
#include <rekindle/foundation/fnv1a.h>
#include <rekindle/runtime/error.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace rekindle::runtime {

namespace {

constexpr std::uint64_t largest_file = 1ull << 30;
constexpr std::string_view lock_suffix = ".lock";

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

/// Calls f. If it fails, puts the path into what(), because what() is all that the runtime's messages show.
template <class F>
auto with_path(const std::filesystem::path& path, F&& f) {
    try {
        return f();
    } catch (const rekindle::Error& error) {
        throw Error((error.where().empty() ? path.string() : error.where()) + ": " + error.message(),
                    error.advice());
    }
}

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
    std::error_code error;
    if (!std::filesystem::exists(path_, error))
        return std::nullopt;
    const auto refuse = [&](const char* why) { throw Error(path_.string() + " is damaged" + why); };
    if (std::filesystem::file_size(path_, error) > largest_file)
        refuse(": it is too large");
    const std::string text = with_path(path_, [&] { return read_file(path_); });
    const auto bytes = std::as_bytes(std::span(text));
    Header header;
    if (bytes.size() < sizeof header)
        refuse(": it has no header");
    std::memcpy(&header, bytes.data(), sizeof header);
    if (std::string_view(header.kind.data(), header.kind.size()) != kind_)
        refuse(" or belongs to another version");
    const auto payload = bytes.subspan(sizeof header);
    if (header.bytes != payload.size())
        refuse(": its size is wrong");
    if (checksum_of(payload) != header.checksum)
        refuse(": its checksum is wrong");
    return std::vector(payload.begin(), payload.end());
}

void CacheFile::write(std::span<const std::byte> payload) const {
    Header header;
    kind_.copy(header.kind.data(), header.kind.size());
    header.bytes = payload.size();
    header.checksum = checksum_of(payload);
    with_path(path_, [&] {
        ensure_directory(path_.parent_path());
        AtomicFile file(path_);
        file.write(std::as_bytes(std::span(&header, 1)));
        file.write(payload);
        file.commit();
    });
}

FileLock CacheFile::lock(std::chrono::milliseconds most) const {
    return with_path(path_, [&] {
        ensure_directory(path_.parent_path());
        return FileLock(path_.string() + std::string(lock_suffix), most);
    });
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
        if (files->path() != path_ && files->path().extension() != lock_suffix &&
            files->is_regular_file(ignored) && files->last_write_time(ignored) < limit && !ignored)
            std::filesystem::remove(files->path(), ignored);
    }
}

} // namespace rekindle::runtime
