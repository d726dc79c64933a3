#pragma once
/// The compression methods of Parquet's pages.

#include "reading/parquet/metadata.h"

#include <string>
#include <string_view>

namespace rekindle::market::parquet {

/// Replaces `decoded` with the decompressed page, which must have `size` bytes. Throws Damage if it does not,
/// and Unsupported for a method that Rekindle cannot read.
void decompress(Codec codec, std::string_view stored, std::size_t size, std::string& decoded);

} // namespace rekindle::market::parquet
