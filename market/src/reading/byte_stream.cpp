#include "reading/byte_stream.h"

#include "reading/zip_entry.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <utility>

namespace rekindle::market::reading {

namespace {

constexpr std::size_t piece = 1 << 18;

/// A mapped file that is read once from its beginning. Bytes are hashed and released from memory when they
/// were consumed.
class StoredBytes {
  public:
    StoredBytes(std::filesystem::path path, MappedFile file, Hasher& hasher)
        : path_(std::move(path)), file_(std::move(file)), hasher_(hasher) {}

    std::string_view rest() const { return file_.text().substr(done_); }
    std::string_view next_piece() const { return file_.text().substr(done_, piece); }
    void consume(std::size_t count) {
        hasher_.update(file_.text().substr(done_, count));
        file_.release(done_, done_ + count);
        done_ += count;
    }
    bool at_end() const { return done_ == file_.text().size(); }
    std::uint64_t done() const noexcept { return done_; }
    std::uint64_t total() const noexcept { return file_.text().size(); }
    const std::filesystem::path& path() const noexcept { return path_; }

  private:
    std::filesystem::path path_;
    MappedFile file_;
    Hasher& hasher_;
    std::size_t done_ = 0;
};

class PlainStream final : public ByteStream {
  public:
    explicit PlainStream(StoredBytes stored) : stored_(std::move(stored)) {}
    bool append(std::string& bytes) override {
        const std::string_view next = stored_.next_piece();
        bytes += next;
        stored_.consume(next.size());
        return !next.empty();
    }
    std::uint64_t bytes_done() const override { return stored_.done(); }
    std::uint64_t bytes_total() const override { return stored_.total(); }

  private:
    StoredBytes stored_;
};

/// Owns zlib's state. `window` is the windowBits of inflateInit2.
class Inflater {
  public:
    explicit Inflater(int window) {
        if (inflateInit2(&stream_, window) != Z_OK)
            throw internal_error("out of memory for decompression");
    }
    ~Inflater() { inflateEnd(&stream_); }
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;
    z_stream& stream() noexcept { return stream_; }

    /// Appends at most one piece of decompressed bytes. Returns zlib's status and how many bytes of `packed`
    /// it used.
    std::pair<int, std::size_t> inflate_piece(std::string_view packed, std::string& bytes) {
        const std::size_t old_size = bytes.size();
        bytes.resize(old_size + piece);
        stream_.next_in =
            reinterpret_cast<Bytef*>(const_cast<char*>(packed.data())); // NOLINT: zlib only reads it
        stream_.avail_in = static_cast<uInt>(packed.size());
        stream_.next_out = reinterpret_cast<Bytef*>(bytes.data() + old_size);
        stream_.avail_out = static_cast<uInt>(piece);
        const int status = inflate(&stream_, Z_NO_FLUSH);
        bytes.resize(old_size + piece - stream_.avail_out);
        return {status, packed.size() - stream_.avail_in};
    }

  private:
    z_stream stream_{};
};

Error damaged(const std::filesystem::path& path, std::string_view method, std::uint64_t position,
              const char* reason) {
    return usage_error(fmt::format("the {} data is damaged near byte {}: {}", method, position,
                                   reason ? reason : "unknown error"))
        .at(path.string());
}

class GzipStream final : public ByteStream {
  public:
    explicit GzipStream(StoredBytes stored) : stored_(std::move(stored)), inflater_(MAX_WBITS + 16) {}

    bool append(std::string& bytes) override {
        const std::size_t old_size = bytes.size();
        while (!at_end_ && bytes.size() == old_size) {
            const auto [status, used] = inflater_.inflate_piece(stored_.next_piece(), bytes);
            stored_.consume(used);
            check(status, used == 0 && bytes.size() == old_size);
        }
        return bytes.size() > old_size;
    }
    std::uint64_t bytes_done() const override { return stored_.done(); }
    std::uint64_t bytes_total() const override { return stored_.total(); }

  private:
    void check(int status, bool no_progress) {
        if (status == Z_STREAM_END) {
            if (stored_.at_end())
                at_end_ = true;
            else if (!is_gzip(stored_.rest()))
                throw usage_error(
                    fmt::format("unexpected bytes follow the gzip data at byte {}", stored_.done()))
                    .at(stored_.path().string())
                    .expected("the end of the file or another gzip member");
            else if (inflateReset(&inflater_.stream()) != Z_OK)
                throw internal_error("zlib cannot be reset");
        } else if (status == Z_BUF_ERROR || (status == Z_OK && stored_.at_end() && no_progress)) {
            throw cut_short(stored_.path(), "gzip");
        } else if (status != Z_OK) {
            throw damaged(stored_.path(), "gzip", stored_.done(), inflater_.stream().msg);
        }
    }

    StoredBytes stored_;
    Inflater inflater_;
    bool at_end_ = false;
};

class ZstdStream final : public ByteStream {
  public:
    explicit ZstdStream(StoredBytes stored) : stored_(std::move(stored)), context_(ZSTD_createDStream()) {
        if (!context_)
            throw internal_error("out of memory for decompression");
    }

    bool append(std::string& bytes) override {
        const std::size_t old_size = bytes.size();
        while (bytes.size() == old_size && (!stored_.at_end() || full_)) {
            const std::string_view packed = stored_.next_piece();
            bytes.resize(old_size + piece);
            ZSTD_inBuffer in{packed.data(), packed.size(), 0};
            ZSTD_outBuffer out{bytes.data() + old_size, piece, 0};
            const std::size_t left = ZSTD_decompressStream(context_.get(), &out, &in);
            bytes.resize(old_size + out.pos);
            if (ZSTD_isError(left))
                throw damaged(stored_.path(), "zstd", stored_.done(), ZSTD_getErrorName(left));
            stored_.consume(in.pos);
            within_frame_ = left != 0;
            full_ = out.pos == piece;
        }
        if (bytes.size() == old_size && within_frame_)
            throw cut_short(stored_.path(), "zstd");
        return bytes.size() > old_size;
    }
    std::uint64_t bytes_done() const override { return stored_.done(); }
    std::uint64_t bytes_total() const override { return stored_.total(); }

  private:
    struct Free {
        void operator()(ZSTD_DStream* context) const { ZSTD_freeDStream(context); }
    };
    StoredBytes stored_;
    std::unique_ptr<ZSTD_DStream, Free> context_;
    bool within_frame_ = false;
    bool full_ = false; ///< more output may follow without further input
};

/// Reads the entry of a zip archive that holds the bars.
class ZipStream final : public ByteStream {
  public:
    ZipStream(std::filesystem::path path, MappedFile file, Hasher& hasher)
        : path_(std::move(path)), file_(std::move(file)), hasher_(hasher),
          entry_(find_entry_of_bars(path_, file_.text())), inflater_(-MAX_WBITS) {}

    bool append(std::string& bytes) override {
        const std::size_t old_size = bytes.size();
        while (!at_end_ && bytes.size() == old_size) {
            const std::string_view next = entry_.content.substr(done_, piece);
            if (entry_.deflated) {
                const auto [status, used] = inflater_.inflate_piece(next, bytes);
                done_ += used;
                at_end_ = status == Z_STREAM_END;
                if (status != Z_STREAM_END && (status != Z_OK || (used == 0 && bytes.size() == old_size)))
                    throw damaged(path_, "zip", done_,
                                  inflater_.stream().msg ? inflater_.stream().msg : "it ends early");
            } else {
                bytes += next;
                done_ += next.size();
                at_end_ = done_ == entry_.content.size();
            }
        }
        checksum_ = crc32(checksum_, reinterpret_cast<const Bytef*>(bytes.data() + old_size),
                          static_cast<uInt>(bytes.size() - old_size));
        if (at_end_ && !std::exchange(checked_, true)) {
            if (checksum_ != entry_.checksum)
                throw damaged(path_, "zip", done_, "the checksum is wrong");
            hasher_.update(file_.text());
        }
        return bytes.size() > old_size;
    }
    std::uint64_t bytes_done() const override { return at_end_ ? bytes_total() : done_; }
    std::uint64_t bytes_total() const override { return file_.text().size(); }

  private:
    std::filesystem::path path_;
    MappedFile file_;
    Hasher& hasher_;
    ZipEntry entry_;
    Inflater inflater_;
    std::size_t done_ = 0;
    unsigned long checksum_ = 0;
    bool at_end_ = false;
    bool checked_ = false;
};

} // namespace

Error cut_short(const std::filesystem::path& path, std::string_view method) {
    return usage_error(fmt::format("the {} file is cut short", method))
        .at(path.string())
        .expected("a complete file")
        .hint("Copy or download the file again.");
}

bool is_gzip(std::string_view bytes) noexcept {
    return bytes.starts_with("\x1F\x8B");
}

bool is_zstd(std::string_view bytes) noexcept {
    return bytes.starts_with("\x28\xB5\x2F\xFD");
}

bool is_zip(std::string_view bytes) noexcept {
    return bytes.starts_with("PK\x03\x04");
}

std::unique_ptr<ByteStream> open_byte_stream(const std::filesystem::path& path, MappedFile file,
                                             Hasher& hasher) {
    const std::string_view text = file.text();
    if (is_zip(text))
        return std::make_unique<ZipStream>(path, std::move(file), hasher);
    const bool gzip = is_gzip(text);
    const bool zstd = is_zstd(text);
    StoredBytes stored(path, std::move(file), hasher);
    if (gzip)
        return std::make_unique<GzipStream>(std::move(stored));
    if (zstd)
        return std::make_unique<ZstdStream>(std::move(stored));
    return std::make_unique<PlainStream>(std::move(stored));
}

} // namespace rekindle::market::reading
