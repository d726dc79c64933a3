#pragma once
/// The compression methods of Parquet's pages.

#include "reading/parquet/metadata.h"

#include <string>
#include <string_view>

namespace rekindle::market::parquet {

/// Decompresses a page to exactly `size` bytes into `decoded`, whose old content is lost. Throws Damage, or
/// Unsupported for a method that is not read.
void decompress(Codec codec, std::string_view stored, std::size_t size, std::string& decoded);

} // namespace rekindle::market::parquet
