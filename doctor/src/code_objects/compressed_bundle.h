#pragma once
/// Compressed clang offload bundles ("CCOB"): their header, and as much of their content as is requested.
/// Format: clang/docs/ClangOffloadBundler.rst, "Compression and Decompression"; versions 2 and 3.

#include "code_objects/byte_source.h"

#include <rekindle/foundation/error.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

struct ZSTD_DCtx_s;

namespace rekindle::doctor {

constexpr std::string_view compressed_bundle_magic = "CCOB";

enum class Compression { zlib = 0, zstd = 1 };

struct CompressedBundle {
    Compression method{};
    ByteRange data;                      ///< the compressed stream
    std::uint64_t end = 0;               ///< where the bundle ends; padding may follow
    std::uint64_t uncompressed_size = 0; ///< according to the header
};

/// The header at range.begin. An error when its version or method is unsupported, or when the sizes do not
/// fit into the range.
Expected<CompressedBundle> read_compressed_bundle(const ByteSource& source, ByteRange range);

/// Decompresses the beginning of bundles, one after the other, into one buffer. Memory: at most `longest`
/// and a block of 128 KiB, and only what is written is ever touched. Not thread-safe.
class BundleDecompressor {
  public:
    explicit BundleDecompressor(std::uint64_t longest);
    ~BundleDecompressor();
    BundleDecompressor(const BundleDecompressor&) = delete;
    BundleDecompressor& operator=(const BundleDecompressor&) = delete;

    void begin(const ByteSource& source, const CompressedBundle& bundle);
    /// Continues until it has `size` bytes, the limit is reached or the stream ends. The bytes stay valid
    /// until the next call. Returns an error when the stream is damaged; the bytes before the damage stay
    /// in content().
    Expected<std::span<const std::byte>> extend(std::uint64_t size);
    std::span<const std::byte> content() const noexcept { return {buffer_.get(), size_}; }

  private:
    struct Inflate;
    Expected<bool> next_zstd_block();
    Expected<bool> next_inflated_piece();

    std::uint64_t longest_;
    std::unique_ptr<std::byte[]> buffer_;
    std::size_t size_ = 0;
    bool ended_ = true;
    const ByteSource* source_ = nullptr;
    CompressedBundle bundle_;
    std::uint64_t position_ = 0; ///< of the next compressed byte
    std::vector<std::byte> input_;
    std::unique_ptr<ZSTD_DCtx_s, std::size_t (*)(ZSTD_DCtx_s*)> zstd_;
    std::unique_ptr<Inflate> inflate_;
};

} // namespace rekindle::doctor
