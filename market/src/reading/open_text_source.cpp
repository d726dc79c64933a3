#include "reading/open_text_source.h"

#include "reading/gzip_source.h"

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

/// Files that are not text, recognized by their first bytes.
struct OtherFormat {
    std::string_view beginning;
    std::string_view what;
    std::string_view advice;
};

constexpr std::string_view unpack_first =
    "Decompress it first. Files compressed with gzip can be read directly.";
constexpr std::array other_formats{
    OtherFormat{std::string_view("PK\x03\x04", 4), "a zip archive (or a spreadsheet)",
                "Extract it first, or save the spreadsheet as CSV."},
    OtherFormat{std::string_view("PK\x05\x06", 4), "an empty zip archive", "Download it again."},
    OtherFormat{std::string_view("\x28\xB5\x2F\xFD", 4), "compressed with zstd", unpack_first},
    OtherFormat{std::string_view("\xFD\x37zXZ", 5), "compressed with xz", unpack_first},
    OtherFormat{std::string_view("BZh", 3), "compressed with bzip2", unpack_first},
    OtherFormat{std::string_view("\x04\x22\x4D\x18", 4), "compressed with lz4", unpack_first},
    OtherFormat{std::string_view("7z\xBC\xAF", 4), "a 7-Zip archive", unpack_first},
    OtherFormat{std::string_view("Rar!", 4), "a RAR archive", unpack_first},
    OtherFormat{std::string_view("PAR1", 4), "a Parquet file", "Export it as CSV."},
    OtherFormat{std::string_view("\x89HDF", 4), "an HDF5 file", "Export it as CSV."},
    OtherFormat{std::string_view("\xD0\xCF\x11\xE0", 4), "a spreadsheet", "Save it as CSV."},
    OtherFormat{std::string_view("\x1F\x9D", 2), "compressed with compress", unpack_first},
    OtherFormat{std::string_view("ARROW1", 6), "an Arrow file", "Export it as CSV."},
    OtherFormat{std::string_view("%PDF-", 5), "a PDF file", "Look for the same data as CSV."},
};
constexpr OtherFormat web_page{"<", "a web page", "The download returned a web page instead of the file."};

bool is_web_page(std::string_view text) {
    const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n\xEF\xBB\xBF"), text.size());
    const std::string first = lower_case(text.substr(begin, 9));
    return first == "<!doctype" || first.starts_with("<html");
}

void require_text(const std::filesystem::path& path, std::string_view text) {
    const auto known = std::ranges::find_if(
        other_formats, [&](const OtherFormat& format) { return text.starts_with(format.beginning); });
    const OtherFormat* other = known != other_formats.end() ? &*known
                               : is_web_page(text)          ? &web_page
                                                            : nullptr;
    if (other)
        throw usage_error(fmt::format("the file is {}", other->what))
            .at(path.string())
            .expected("lines of text, plain or compressed with gzip")
            .hint(std::string(other->advice));
    if (path.extension() == ".gz" && text.starts_with('\x1F'))
        throw cut_short(path);
    if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
        throw usage_error("the text is UTF-16")
            .at(path.string())
            .expected("UTF-8 or ASCII")
            .hint("Save it again as UTF-8, for example: iconv -f UTF-16 -t UTF-8");
    if (text.substr(0, max_line_length).find('\0') != std::string_view::npos)
        throw usage_error("the file is not text: it contains NUL bytes")
            .at(path.string())
            .expected("lines of text, plain or compressed with gzip");
}

} // namespace

std::unique_ptr<TextSource> open_text_source(const std::filesystem::path& path, Hasher& hasher) {
    MappedFile file(path);
    if (file.bytes().empty())
        throw usage_error("the file is empty").at(path.string()).expected("at least one row");
    if (is_gzip(file.text()))
        return open_gzip_source(path, std::move(file), hasher);
    require_text(path, file.text());
    return std::make_unique<MappedSource>(path, std::move(file), hasher);
}

} // namespace rekindle::market::reading
