#pragma once
/// Recognizes files that are not text by their content, so that the error can name the format and say how to
/// convert it.

#include <filesystem>
#include <string_view>

namespace rekindle::market::reading {

/// Throws Error (usage) naming the format, with advice, unless `text`, the beginning of the file or of its
/// decompressed content, can be lines of text.
void require_text(const std::filesystem::path& path, std::string_view text);
/// Throws such an Error if a zip archive is a spreadsheet or holds NumPy arrays.
void require_archive_of_text(const std::filesystem::path& path, std::string_view archive);

} // namespace rekindle::market::reading
