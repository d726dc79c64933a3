#include "reading/open_text_source.h"

#include "reading/gzip_source.h"
#include "reading/other_formats.h"
#include "reading/parquet/parquet_rows.h"
#include "reading/table_source.h"

#include <rekindle/base/error.h>
#include <rekindle/base/file.h>
#include <rekindle/base/text.h>

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

} // namespace

std::unique_ptr<TextSource> open_text_source(const std::filesystem::path& path, Hasher& hasher,
                                             std::span<const int> used_columns) {
    MappedFile file(path);
    if (file.bytes().empty())
        throw usage_error("the file is empty").at(path.string()).expected("at least one row");
    if (is_gzip(file.text()))
        return open_gzip_source(path, std::move(file), hasher);
    if (parquet::is_parquet(file.text())) {
        const auto shared = std::make_shared<const MappedFile>(std::move(file));
        return make_table_source(shared, hasher, parquet::read_parquet(path, shared, used_columns));
    }
    require_text(path, file.text());
    return std::make_unique<MappedSource>(path, std::move(file), hasher);
}

} // namespace rekindle::market::reading
