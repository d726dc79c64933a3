#include "reading/gzip_source.h"

#include "reading/other_formats.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <string>

namespace rekindle::market::reading {

namespace {

/// Owns zlib's state for gzip members.
class Inflater {
  public:
    Inflater() {
        if (inflateInit2(&stream_, 15 + 16) != Z_OK)
            throw internal_error("out of memory for decompression");
    }
    ~Inflater() { inflateEnd(&stream_); }
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;
    z_stream& stream() noexcept { return stream_; }

  private:
    z_stream stream_{};
};

class GzipSource final : public TextSource {
  public:
    GzipSource(std::filesystem::path path, MappedFile file, Hasher& hasher)
        : path_(std::move(path)), file_(std::move(file)), hasher_(hasher) {}

    std::string_view next(std::size_t target) override {
        target_ = std::max<std::size_t>(target, 1);
        prefetch();
        std::swap(current_, ahead_);
        const std::size_t last_line = end_of_text_ ? current_.size() : current_.rfind('\n') + 1;
        ahead_.assign(current_, last_line);
        current_.resize(last_line);
        return current_;
    }

    /// Fills `ahead_` with at least target_ bytes and one whole line, or up to the end.
    void prefetch() override {
        while (!end_of_text_ && (ahead_.size() < target_ || ahead_.rfind('\n') == std::string::npos)) {
            if (ahead_.size() >= max_line_length && ahead_.rfind('\n') == std::string::npos)
                throw line_too_long(path_);
            inflate_more();
        }
    }

    std::vector<std::string> samples(std::size_t, std::size_t) const override { return {}; }
    bool packed() const override { return true; }
    std::uint64_t bytes_done() const override { return consumed_; }
    std::uint64_t bytes_total() const override { return file_.text().size(); }

  private:
    void inflate_more() {
        constexpr std::size_t piece = 1 << 18;
        const std::size_t old_size = ahead_.size();
        ahead_.resize(old_size + piece);
        z_stream& stream = inflater_.stream();
        const std::string_view packed = file_.text().substr(consumed_, piece);
        stream.next_in =
            reinterpret_cast<Bytef*>(const_cast<char*>(packed.data())); // NOLINT: zlib only reads it
        stream.avail_in = static_cast<uInt>(packed.size());
        stream.next_out = reinterpret_cast<Bytef*>(ahead_.data() + old_size);
        stream.avail_out = static_cast<uInt>(piece);
        const int status = inflate(&stream, Z_NO_FLUSH);
        const std::size_t used = packed.size() - stream.avail_in;
        ahead_.resize(old_size + piece - stream.avail_out);
        hasher_.update(packed.substr(0, used));
        file_.release(consumed_, consumed_ + used);
        consumed_ += used;
        check(status, used == 0 && ahead_.size() == old_size, old_size == 0);
    }

    void check(int status, bool no_progress, bool first) {
        const bool end_of_file = consumed_ == file_.text().size();
        if (status == Z_STREAM_END) {
            if (end_of_file)
                end_of_text_ = true;
            else if (!is_gzip(file_.text().substr(consumed_)))
                throw usage_error(fmt::format("unexpected bytes follow the gzip data at byte {}", consumed_))
                    .at(path_.string())
                    .expected("the end of the file or another gzip member");
            else if (inflateReset(&inflater_.stream()) != Z_OK)
                throw internal_error("zlib cannot be reset");
        } else if (status == Z_BUF_ERROR || (status == Z_OK && end_of_file && no_progress)) {
            throw cut_short(path_);
        } else if (status != Z_OK) {
            const char* reason = inflater_.stream().msg;
            throw usage_error(fmt::format("the gzip data is damaged near byte {}: {}", consumed_,
                                          reason ? reason : "unknown error"))
                .at(path_.string());
        }
        if (first)
            require_text(path_, ahead_);
    }

    std::filesystem::path path_;
    MappedFile file_;
    Hasher& hasher_;
    Inflater inflater_;
    std::string current_;
    std::string ahead_;
    std::size_t target_ = 1;
    std::size_t consumed_ = 0;
    bool end_of_text_ = false;
};

} // namespace

Error cut_short(const std::filesystem::path& path) {
    return usage_error("the gzip file is cut short")
        .at(path.string())
        .expected("a complete file")
        .hint("Copy or download the file again.");
}

bool is_gzip(std::string_view bytes) noexcept {
    return bytes.starts_with("\x1F\x8B");
}

std::unique_ptr<TextSource> open_gzip_source(const std::filesystem::path& path, MappedFile file,
                                             Hasher& hasher) {
    return std::make_unique<GzipSource>(path, std::move(file), hasher);
}

} // namespace rekindle::market::reading
