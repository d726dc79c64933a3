#include "code_objects/compressed_bundle.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>

#include <algorithm>
#include <new>

// Decoding block by block into one buffer does not need a window of the size that the stream claims.
#define ZSTD_STATIC_LINKING_ONLY
#include <zlib.h>
#include <zstd.h>

namespace rekindle::doctor {

namespace {

constexpr std::size_t block_size = 128 << 10;

struct HeaderStart {
    char magic[4];
    std::uint16_t version, method;
};

} // namespace

Expected<CompressedBundle> read_compressed_bundle(const ByteSource& source, ByteRange range) {
    const auto start = read_value<HeaderStart>(source, range.begin);
    if (!start)
        return damaged(range.begin, "the header of a compressed bundle is cut off");
    if (start->version != 2 && start->version != 3)
        return damaged(range.begin,
                       fmt::format("a compressed bundle (CCOB) of version {}; only 2 and 3 can be read{}",
                                   start->version,
                                   start->version == 1 ? ", version 1 does not say where it ends" : ""));
    if (start->method > 1)
        return damaged(range.begin,
                       fmt::format("a compressed bundle (CCOB) with the unknown method {}", start->method));
    CompressedBundle bundle;
    bundle.method = static_cast<Compression>(start->method);
    std::uint64_t total = 0, header_size = 0;
    if (start->version == 2) {
        const auto sizes =
            read_value<std::array<std::uint32_t, 2>>(source, range.begin + sizeof(HeaderStart));
        header_size = 24;
        total = sizes ? (*sizes)[0] : 0;
        bundle.uncompressed_size = sizes ? (*sizes)[1] : 0;
    } else {
        const auto sizes =
            read_value<std::array<std::uint64_t, 2>>(source, range.begin + sizeof(HeaderStart));
        header_size = 32;
        total = sizes ? (*sizes)[0] : 0;
        bundle.uncompressed_size = sizes ? (*sizes)[1] : 0;
    }
    if (total < header_size)
        return damaged(range.begin, "a compressed bundle claims a size of " + counted(total, "byte"));
    if (total > range.size())
        return damaged(range.begin, fmt::format("a compressed bundle claims {}, but only {} left",
                                                counted(total, "byte"), counted(range.size(), "is", "are")));
    bundle.data = {range.begin + header_size, range.begin + total};
    bundle.end = range.begin + total;
    return bundle;
}

struct BundleDecompressor::Inflate {
    z_stream stream{};
    Inflate() {
        if (inflateInit(&stream) != Z_OK)
            throw std::bad_alloc();
    }
    ~Inflate() { inflateEnd(&stream); }
    Inflate(const Inflate&) = delete;
    Inflate& operator=(const Inflate&) = delete;
};

BundleDecompressor::BundleDecompressor(std::uint64_t longest)
    : longest_(longest), buffer_(std::make_unique_for_overwrite<std::byte[]>(longest + block_size)),
      input_(block_size), zstd_(nullptr, &ZSTD_freeDCtx) {}

BundleDecompressor::~BundleDecompressor() = default;

void BundleDecompressor::begin(const ByteSource& source, const CompressedBundle& bundle) {
    source_ = &source;
    bundle_ = bundle;
    position_ = bundle.data.begin;
    size_ = 0;
    ended_ = false;
    inflate_.reset();
    if (bundle.method == Compression::zlib) {
        inflate_ = std::make_unique<Inflate>();
    } else {
        if (!zstd_)
            zstd_.reset(ZSTD_createDCtx());
        if (!zstd_)
            throw std::bad_alloc();
        ZSTD_decompressBegin(zstd_.get());
    }
}

Expected<std::span<const std::byte>> BundleDecompressor::extend(std::uint64_t size) {
    const std::uint64_t target_size = std::min(size, longest_);
    while (size_ < target_size && !ended_) {
        const Expected<bool> more = inflate_ ? next_inflated_piece() : next_zstd_block();
        if (!more) {
            ended_ = true;
            return more.error();
        }
        ended_ = !*more;
    }
    return content();
}

Expected<bool> BundleDecompressor::next_zstd_block() {
    const std::size_t needed = ZSTD_nextSrcSizeToDecompress(zstd_.get());
    if (needed == 0)
        return false;
    if (needed > bundle_.data.end - position_)
        return damaged(position_, "a compressed bundle's zstd stream is cut off");
    if (needed > input_.size())
        return damaged(position_, "a compressed bundle's zstd stream has an oversized block");
    const std::size_t got = source_->read(position_, std::span(input_).first(needed));
    if (got != needed)
        return damaged(position_, "a compressed bundle's zstd stream is cut off");
    const std::size_t written = ZSTD_decompressContinue(zstd_.get(), buffer_.get() + size_,
                                                        longest_ + block_size - size_, input_.data(), needed);
    if (ZSTD_isError(written))
        return damaged(position_, fmt::format("a compressed bundle's zstd stream is damaged ({})",
                                              ZSTD_getErrorName(written)));
    position_ += needed;
    size_ += written;
    return true;
}

Expected<bool> BundleDecompressor::next_inflated_piece() {
    z_stream& stream = inflate_->stream;
    if (stream.avail_in == 0) {
        const std::size_t left = std::min<std::uint64_t>(input_.size(), bundle_.data.end - position_);
        const std::size_t got = source_->read(position_, std::span(input_).first(left));
        if (got == 0)
            return damaged(position_, "a compressed bundle's zlib stream is cut off");
        position_ += got;
        stream.next_in = reinterpret_cast<Bytef*>(input_.data());
        stream.avail_in = static_cast<uInt>(got);
    }
    const std::size_t room = std::min<std::uint64_t>(block_size, longest_ + block_size - size_);
    stream.next_out = reinterpret_cast<Bytef*>(buffer_.get() + size_);
    stream.avail_out = static_cast<uInt>(room);
    const int status = inflate(&stream, Z_NO_FLUSH);
    size_ += room - stream.avail_out;
    if (status == Z_STREAM_END)
        return false;
    if (status != Z_OK && status != Z_BUF_ERROR)
        return damaged(position_, fmt::format("a compressed bundle's zlib stream is damaged ({})",
                                              stream.msg ? stream.msg : "no reason given"));
    return true;
}

} // namespace rekindle::doctor
