#include "reading/table_source.h"

#include <algorithm>
#include <utility>

namespace rekindle::market::reading {

namespace {

class TableSource final : public TextSource {
  public:
    TableSource(std::shared_ptr<const MappedFile> file, Hasher& hasher, std::unique_ptr<TableRows> rows)
        : file_(std::move(file)), hasher_(hasher), rows_(std::move(rows)), ahead_(rows_->header()) {}

    std::string_view next(std::size_t target) override {
        target_ = std::max<std::size_t>(target, 1);
        prefetch();
        current_.clear();
        std::swap(current_, ahead_);
        return current_;
    }

    void prefetch() override {
        while (!at_end_ && ahead_.size() < target_)
            at_end_ = !rows_->append(ahead_);
        if (!file_)
            return;
        const std::uint64_t end = at_end_ ? bytes_total() : rows_->bytes_done();
        if (end <= hashed_)
            return;
        hasher_.update(file_->text().substr(hashed_, end - hashed_));
        file_->release(hashed_, end);
        hashed_ = end;
    }

    std::vector<std::string> samples(std::size_t, std::size_t) const override { return {}; }
    bool packed() const override { return true; }
    std::string table_format() const override { return rows_->format(); }
    std::uint64_t rows() const override { return rows_->rows(); }
    bool stamps_begin_bars() const override { return rows_->stamps_begin_bars(); }
    std::int64_t bar_seconds() const override { return rows_->bar_seconds(); }
    std::vector<std::string> notes() const override { return rows_->notes(); }
    std::uint64_t bytes_done() const override { return rows_->bytes_done(); }
    std::uint64_t bytes_total() const override { return rows_->bytes_total(); }

  private:
    std::shared_ptr<const MappedFile> file_;
    Hasher& hasher_;
    std::unique_ptr<TableRows> rows_;
    std::string current_;
    std::string ahead_;
    std::size_t target_ = 1;
    std::uint64_t hashed_ = 0;
    bool at_end_ = false;
};

} // namespace

std::unique_ptr<TextSource> make_table_source(std::unique_ptr<TableRows> rows, Hasher& hasher,
                                              std::shared_ptr<const MappedFile> file) {
    return std::make_unique<TableSource>(std::move(file), hasher, std::move(rows));
}

} // namespace rekindle::market::reading
