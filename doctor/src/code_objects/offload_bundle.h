#pragma once
/// Clang offload bundles, one after the other, as linkers write them into .hip_fatbin. Format:
/// clang/docs/ClangOffloadBundler.rst, "Bundled Binary File Layout".

#include "code_objects/byte_source.h"
#include "code_objects/targets.h"

#include <rekindle/doctor/code_objects.h>
#include <rekindle/foundation/error.h>

#include <cstdint>
#include <string>
#include <vector>

namespace rekindle::doctor {

constexpr std::string_view bundle_magic = "__CLANG_OFFLOAD_BUNDLE__";

struct BundleEntry {
    std::string id;
    std::uint64_t offset = 0; ///< from the start of the bundle
    std::uint64_t size = 0;
};

struct BundleHeader {
    std::vector<BundleEntry> entries;
    std::uint64_t size = 0; ///< of the header itself
};

/// The header at range.begin. Returns an error when it is cut off or contains impossible values; the sizes
/// of entries are not checked against the range, since only the beginning of a compressed bundle may be
/// available.
Expected<BundleHeader> read_bundle_header(const ByteSource& source, ByteRange range);

/// Adds the targets of every bundle in the range, plain and compressed. Damage is noted; the scan continues
/// at the next bundle that it finds.
void read_bundles(const ByteSource& source, ByteRange range, const ScanOptions& options,
                  TargetCollector& found);

} // namespace rekindle::doctor
