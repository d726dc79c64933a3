#include "reading/parquet/codec.h"

#include "reading/parquet/damage.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <brotli/decode.h>
#include <lz4.h>
#include <snappy.h>

namespace rekindle::market::parquet {

namespace {

bool unpack_snappy(std::string_view stored, std::string& decoded) {
    std::size_t size = 0;
    return snappy::GetUncompressedLength(stored.data(), stored.size(), &size) && size == decoded.size() &&
           snappy::RawUncompress(stored.data(), stored.size(), decoded.data());
}

/// One or several gzip members, or zlib data.
bool unpack_gzip(std::string_view stored, std::string& decoded) {
    z_stream stream{};
    constexpr int detect_header = 32;
    if (inflateInit2(&stream, MAX_WBITS + detect_header) != Z_OK)
        return false;
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(stored.data())); // NOLINT: only read
    stream.avail_in = static_cast<uInt>(stored.size());
    stream.next_out = reinterpret_cast<Bytef*>(decoded.data());
    stream.avail_out = static_cast<uInt>(decoded.size());
    int status = inflate(&stream, Z_FINISH);
    while (status == Z_STREAM_END && stream.avail_in > 0 && inflateReset(&stream) == Z_OK)
        status = inflate(&stream, Z_FINISH);
    const bool complete = status == Z_STREAM_END && stream.avail_out == 0;
    inflateEnd(&stream);
    return complete;
}

bool unpack_brotli(std::string_view stored, std::string& decoded) {
    std::size_t size = decoded.size();
    return BrotliDecoderDecompress(stored.size(), reinterpret_cast<const std::uint8_t*>(stored.data()), &size,
                                   reinterpret_cast<std::uint8_t*>(decoded.data())) ==
               BROTLI_DECODER_RESULT_SUCCESS &&
           size == decoded.size();
}

bool unpack_zstd(std::string_view stored, std::string& decoded) {
    return ZSTD_decompress(decoded.data(), decoded.size(), stored.data(), stored.size()) == decoded.size();
}

bool unpack_lz4_block(std::string_view stored, char* decoded, std::size_t size) {
    return LZ4_decompress_safe(stored.data(), decoded, static_cast<int>(stored.size()),
                               static_cast<int>(size)) == static_cast<int>(size);
}

std::size_t big_endian(std::string_view bytes) {
    std::size_t value = 0;
    for (const char byte : bytes.substr(0, 4))
        value = value << 8 | static_cast<unsigned char>(byte);
    return value;
}

/// Hadoop writes each block of LZ4 after two numbers: its decompressed and its compressed size.
bool unpack_lz4_hadoop(std::string_view stored, std::string& decoded) {
    constexpr std::size_t prefix = 8;
    std::size_t done = 0;
    while (stored.size() >= prefix) {
        const std::size_t size = big_endian(stored);
        const std::size_t packed = big_endian(stored.substr(4));
        stored.remove_prefix(prefix);
        if (packed > stored.size() || size > decoded.size() - done ||
            !unpack_lz4_block(stored.substr(0, packed), decoded.data() + done, size))
            return false;
        done += size;
        stored.remove_prefix(packed);
    }
    return stored.empty() && done == decoded.size();
}

bool unpack(Codec codec, std::string_view stored, std::string& decoded) {
    switch (codec) {
    case Codec::none:
        decoded = stored;
        return true;
    case Codec::snappy:
        return unpack_snappy(stored, decoded);
    case Codec::gzip:
        return unpack_gzip(stored, decoded);
    case Codec::brotli:
        return unpack_brotli(stored, decoded);
    case Codec::zstd:
        return unpack_zstd(stored, decoded);
    case Codec::lz4:
        return unpack_lz4_block(stored, decoded.data(), decoded.size());
    case Codec::lz4_hadoop:
        return unpack_lz4_hadoop(stored, decoded) ||
               unpack_lz4_block(stored, decoded.data(), decoded.size()); // some writers add no prefix
    default:
        throw Unsupported{fmt::format("it is compressed with {}",
                                      codec == Codec::lzo
                                          ? std::string("LZO")
                                          : fmt::format("the unknown method {}", static_cast<int>(codec)))};
    }
}

} // namespace

void decompress(Codec codec, std::string_view stored, std::size_t size, std::string& decoded) {
    decoded.resize(size);
    if (size > 0 && (!unpack(codec, stored, decoded) || decoded.size() != size))
        throw Damage{"a compressed page cannot be decompressed"};
}

} // namespace rekindle::market::parquet
