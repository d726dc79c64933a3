#include "reading/open_text_source.h"

#include "reading/byte_stream.h"
#include "reading/dbn_rows.h"
#include "reading/other_formats.h"
#include "reading/packed_source.h"
#include "reading/parquet/parquet_rows.h"
#include "reading/record_stream.h"
#include "reading/scid_rows.h"
#include "reading/table_source.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

namespace rekindle::market::reading {

namespace {

/// A mapped plain file. Parsed pieces are released from the resident set.
class MappedSource final : public TextSource {
  public:
    MappedSource(std::filesystem::path path, MappedFile file, Hasher& hasher)
        : path_(std::move(path)), file_(std::move(file)), hasher_(hasher) {}

    std::string_view next(std::size_t target) override {
        prefetch();
        file_.release(begin_, end_);
        begin_ = end_;
        const std::string_view text = file_.text();
        end_ = std::min(text.size(), begin_ + std::max<std::size_t>(target, 1));
        if (end_ < text.size()) {
            const std::size_t newline = text.substr(end_ - 1, max_line_length).find('\n');
            if (newline == std::string_view::npos && text.size() - end_ >= max_line_length)
                throw line_too_long(path_);
            end_ = newline == std::string_view::npos ? text.size() : end_ + newline;
        }
        return text.substr(begin_, end_ - begin_);
    }

    void prefetch() override {
        hasher_.update(file_.text().substr(hashed_, end_ - hashed_));
        hashed_ = end_;
    }

    std::vector<std::string> samples(std::size_t count, std::size_t size) const override {
        const std::string_view text = file_.text();
        std::vector<std::string> pieces;
        for (std::size_t i = 1; i <= count; ++i) {
            const std::size_t begin = text.size() / (count + 1) * i;
            std::string_view piece = text.substr(begin, size);
            piece.remove_prefix(std::min(piece.size(), piece.find('\n')));
            piece = piece.substr(0, piece.rfind('\n') + 1);
            if (piece.size() > 1)
                pieces.emplace_back(piece.substr(1));
            file_.release(begin, begin + size);
        }
        return pieces;
    }
    bool packed() const override { return false; }

    std::uint64_t bytes_done() const override { return end_; }
    std::uint64_t bytes_total() const override { return file_.text().size(); }

  private:
    std::filesystem::path path_;
    MappedFile file_;
    Hasher& hasher_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    std::size_t hashed_ = 0;
};

bool is_scid(std::string_view bytes) {
    return bytes.starts_with("SCID");
}

bool is_dbn(std::string_view bytes) {
    constexpr char last_version = 9;
    return bytes.starts_with("DBN") && bytes.size() > 3 && bytes[3] <= last_version;
}

bool is_records(std::string_view bytes) {
    return is_scid(bytes) || is_dbn(bytes);
}

/// Recognizes whether a stream's content is text, SCID or DBN.
std::unique_ptr<TextSource> open_stream(const std::filesystem::path& path, std::unique_ptr<ByteStream> stream,
                                        Hasher& hasher) {
    std::string beginning;
    stream->append(beginning);
    if (is_scid(beginning))
        return make_table_source(read_scid(path, {std::move(stream), std::move(beginning)}), hasher);
    if (is_dbn(beginning))
        return make_table_source(read_dbn(path, {std::move(stream), std::move(beginning)}), hasher);
    require_text(path, beginning);
    return make_packed_source(path, std::move(stream), std::move(beginning));
}

} // namespace

std::unique_ptr<TextSource> open_text_source(const std::filesystem::path& path, Hasher& hasher,
                                             std::span<const int> used_columns) {
    MappedFile file(path);
    if (file.bytes().empty())
        throw usage_error("the file is empty").at(path.string()).expected("at least one row");
    if (is_gzip(file.text()) || is_zstd(file.text()) || is_zip(file.text()) || is_records(file.text())) {
        if (is_zip(file.text()))
            require_archive_of_text(path, file.text());
        return open_stream(path, open_byte_stream(path, std::move(file), hasher), hasher);
    }
    if (parquet::is_parquet(file.text())) {
        const auto shared = std::make_shared<const MappedFile>(std::move(file));
        return make_table_source(parquet::read_parquet(path, shared, used_columns), hasher, shared);
    }
    require_text(path, file.text());
    return std::make_unique<MappedSource>(path, std::move(file), hasher);
}

} // namespace rekindle::market::reading
