#include "reading/packed_source.h"

#include <algorithm>
#include <utility>

namespace rekindle::market::reading {

namespace {

class PackedSource final : public TextSource {
  public:
    PackedSource(std::filesystem::path path, std::unique_ptr<ByteStream> stream, std::string beginning)
        : path_(std::move(path)), stream_(std::move(stream)), ahead_(std::move(beginning)) {}

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
            end_of_text_ = !stream_->append(ahead_);
        }
    }

    std::vector<std::string> samples(std::size_t, std::size_t) const override { return {}; }
    bool packed() const override { return true; }
    std::uint64_t bytes_done() const override { return stream_->bytes_done(); }
    std::uint64_t bytes_total() const override { return stream_->bytes_total(); }

  private:
    std::filesystem::path path_;
    std::unique_ptr<ByteStream> stream_;
    std::string current_;
    std::string ahead_;
    std::size_t target_ = 1;
    bool end_of_text_ = false;
};

} // namespace

std::unique_ptr<TextSource> make_packed_source(const std::filesystem::path& path,
                                               std::unique_ptr<ByteStream> stream, std::string beginning) {
    return std::make_unique<PackedSource>(path, std::move(stream), std::move(beginning));
}

} // namespace rekindle::market::reading
