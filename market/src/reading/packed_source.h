#pragma once
/// Reads whole lines of text from a stream, ahead of the parser.

#include "reading/byte_stream.h"
#include "reading/text_source.h"

#include <filesystem>
#include <memory>
#include <string>

namespace rekindle::market::reading {

/// `beginning` holds the bytes that were already read from the stream.
std::unique_ptr<TextSource> make_packed_source(const std::filesystem::path& path,
                                               std::unique_ptr<ByteStream> stream, std::string beginning);

} // namespace rekindle::market::reading
