#pragma once
/// Reads gzip files, decompressing them piece by piece ahead of the parser.

#include "reading/text_source.h"

#include <rekindle/base/error.h>
#include <rekindle/base/file.h>
#include <rekindle/base/hash.h>

#include <filesystem>
#include <memory>
#include <string_view>

namespace rekindle::market::reading {

bool is_gzip(std::string_view bytes) noexcept;

/// See open_text_source. Several consecutive members form one text.
std::unique_ptr<TextSource> open_gzip_source(const std::filesystem::path& path, MappedFile file,
                                             Hasher& hasher);

/// "the gzip file is cut short".
Error cut_short(const std::filesystem::path& path);

} // namespace rekindle::market::reading
