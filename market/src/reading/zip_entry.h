#pragma once
/// Finds the file of bars in a zip archive (PKWARE, APPNOTE.TXT, section 4.3).

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace rekindle::market::reading {

struct ZipEntry {
    std::string name;
    std::string_view content;   ///< as stored
    bool deflated = false;      ///< false: not compressed
    std::uint32_t checksum = 0; ///< CRC-32 of the uncompressed content
};

/// The only entry, or the only one that ends in .csv or .txt. Throws Error (usage) if there is none or there
/// are several, and if the archive is damaged, encrypted, or compressed by another method than deflate.
ZipEntry find_entry_of_bars(const std::filesystem::path& path, std::string_view archive);

} // namespace rekindle::market::reading
