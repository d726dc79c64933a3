#include "reading/arrow/arrow_rows.h"

#include "reading/arrow/arrow_content.h"
#include "reading/table_text.h"

#include <rekindle/base/text.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace rekindle::market::arrow {

namespace {

constexpr std::uint64_t rows_at_a_time = 1024;

class ArrowRows final : public reading::TableRows {
  public:
    ArrowRows(std::filesystem::path path, ArrowTable table, Hasher& hasher, std::span<const int> used)
        : path_(std::move(path)), table_(std::move(table)), content_(table_.content()), hasher_(hasher),
          used_(content_.names.size(), used.empty()) {
        for (const int column : used)
            used_.at(static_cast<std::size_t>(column)) = true;
        for (const std::string& name : content_.names) {
            if (!header_.empty())
                header_ += ',';
            reading::append_quoted(name, header_);
        }
        header_ += '\n';
        hasher_.update(std::string_view(header_));
    }

    std::string format() const override { return "Arrow table"; }
    const std::string& header() const override { return header_; }
    std::uint64_t rows() const override { return content_.rows; }

    bool append(std::string& text) override {
        if (batch_ == content_.batches.size())
            return false;
        const std::size_t begin = text.size();
        const Batch& batch = content_.batches[batch_];
        const std::uint64_t end = std::min(row_ + rows_at_a_time, batch.rows);
        rows_done_ += end - row_;
        for (; row_ < end; ++row_)
            append_row(batch, text);
        if (row_ == batch.rows)
            ++batch_, row_ = 0;
        hasher_.update(std::string_view(text).substr(begin));
        return true;
    }

    std::uint64_t bytes_done() const override {
        return content_.rows == 0 ? content_.bytes
                                  : static_cast<std::uint64_t>(static_cast<double>(content_.bytes) *
                                                               static_cast<double>(rows_done_) /
                                                               static_cast<double>(content_.rows));
    }
    std::uint64_t bytes_total() const override { return content_.bytes; }

    std::vector<std::string> notes() const override {
        std::vector<std::string_view> names;
        if (!content_.batches.empty())
            for (std::size_t i = 0; i < content_.names.size(); ++i)
                if (!content_.batches.front().columns[i].readable())
                    names.push_back(content_.names[i]);
        if (names.empty())
            return {};
        return {fmt::format("These columns of {} have types that cannot be read: {}.", path_.string(),
                            fmt::join(names, ", "))};
    }

  private:
    void append_row(const Batch& batch, std::string& text) const {
        for (std::size_t i = 0; i < used_.size(); ++i) {
            if (used_[i] && batch.columns[i].readable())
                batch.columns[i].append(row_, text);
            text += ',';
        }
        text.back() = '\n';
    }

    std::filesystem::path path_;
    ArrowTable table_;
    const ArrowTable::Content& content_;
    Hasher& hasher_;
    std::vector<bool> used_;
    std::string header_;
    std::size_t batch_ = 0;
    std::uint64_t row_ = 0; ///< the next row in that batch
    std::uint64_t rows_done_ = 0;
};

} // namespace

std::unique_ptr<reading::TableRows> read_arrow(std::filesystem::path path, ArrowTable table, Hasher& hasher,
                                               std::span<const int> used) {
    return std::make_unique<ArrowRows>(std::move(path), std::move(table), hasher, used);
}

} // namespace rekindle::market::arrow

namespace rekindle::market {

std::string csv_of(const ArrowTable& table, std::span<const std::string_view> columns) {
    std::vector<int> used;
    const std::vector<std::string>& names = table.content().names;
    for (std::size_t i = 0; i < names.size(); ++i)
        if (std::ranges::find(columns, lower_case(names[i])) != columns.end())
            used.push_back(static_cast<int>(i));
    Hasher hasher;
    arrow::ArrowRows rows({}, table, hasher, used);
    std::string text = rows.header();
    while (rows.append(text)) {
    }
    return text;
}

} // namespace rekindle::market
