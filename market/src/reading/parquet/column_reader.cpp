#include "reading/parquet/column_reader.h"

#include "reading/parquet/cell_text.h"
#include "reading/parquet/codec.h"
#include "reading/parquet/damage.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace rekindle::market::parquet {

namespace {

constexpr std::array<char, readable_bytes> blank{};
/// A cell without a value.
constexpr std::string_view no_text(blank.data(), 0);

bool is_dictionary(Encoding encoding) {
    return encoding == Encoding::dictionary || encoding == Encoding::plain_dictionary;
}

void check_value(const Column& column, const Value& value) {
    constexpr std::size_t widest_decimal = 16;
    if (column.logical == Logical::decimal && value.bytes.size() > widest_decimal)
        throw Unsupported{fmt::format("the column {} has decimals of more than 38 digits", column.name)};
}

} // namespace

std::span<const std::string_view> ColumnReader::read(std::size_t most) {
    while (page_left_ == 0)
        next_page();
    const std::size_t count = std::min(most, page_left_);
    const std::size_t present = read_presence(count);
    write_values(present);
    page_left_ -= count;
    values_left_ -= count;
    if (present < count) { // spread the values over the cells that have one
        std::size_t from = present;
        cells_.resize(count);
        for (std::size_t i = count; i-- > 0;)
            cells_[i] = present_[i] ? cells_[--from] : no_text;
    }
    return cells_;
}

void ColumnReader::next_page() {
    if (bytes_.empty())
        throw Damage{fmt::format("the column {} ends early", column_.name)};
    const PageHeader page = read_page_header(bytes_);
    const std::string_view stored = bytes_.substr(page.header_size, page.stored_size);
    bytes_.remove_prefix(page.header_size + page.stored_size);
    if (page.has_checksum && crc32(0, reinterpret_cast<const Bytef*>(stored.data()),
                                   static_cast<uInt>(stored.size())) != page.checksum)
        throw Damage{fmt::format("a page of the column {} has a wrong checksum", column_.name)};
    if (page.kind == PageKind::dictionary)
        return read_dictionary(page, stored);
    if (page.kind != PageKind::other)
        begin_page(page, stored);
}

void ColumnReader::read_dictionary(const PageHeader& page, std::string_view stored) {
    decompress(codec_, stored, page.decoded_size, page_);
    if (has_dictionary_ || page.values > page_.size() * 8)
        throw Damage{fmt::format("the column {} has a wrong dictionary", column_.name)};
    const auto decoder = make_decoder(column_, Encoding::plain, page_, page.values);
    dictionary_ends_.reserve(page.values);
    std::uint32_t end = 0;
    for (std::size_t i = 0; i < page.values; ++i) {
        Value value;
        decoder->read({&value, 1});
        check_value(column_, value);
        dictionary_text_.resize(end + cell_room(column_, value) + readable_bytes);
        char* const begin = dictionary_text_.data() + end;
        end += static_cast<std::uint32_t>(write_cell(column_, value, begin) - begin);
        dictionary_ends_.push_back(end);
    }
    has_dictionary_ = true;
}

/// Splits the levels off a page's content and returns the values.
std::string_view ColumnReader::take_levels(const PageHeader& page, std::string_view content) {
    levels_.reset();
    if (!column_.optional)
        return content;
    std::uint32_t size = static_cast<std::uint32_t>(page.level_size);
    if (page.kind == PageKind::data) {
        if (page.level_encoding != Encoding::run_length)
            throw Unsupported{fmt::format("old levels in the column {}", column_.name)};
        if (content.size() < sizeof size)
            throw Damage{"a page ends early"};
        std::memcpy(&size, content.data(), sizeof size);
        content.remove_prefix(sizeof size);
    }
    if (size > content.size())
        throw Damage{"a page ends early"};
    levels_.emplace(content.substr(0, size), 1);
    return content.substr(size);
}

void ColumnReader::begin_page(const PageHeader& page, std::string_view stored) {
    if (page.values > values_left_)
        throw Damage{fmt::format("the column {} has too many values", column_.name)};
    std::string_view values;
    if (page.kind == PageKind::data) {
        decompress(codec_, stored, page.decoded_size, page_);
        values = take_levels(page, page_);
    } else {
        if (page.level_size > stored.size() || page.level_size > page.decoded_size)
            throw Damage{"a page has levels that are larger than the page"};
        decompress(page.compressed ? codec_ : Codec::none, stored.substr(page.level_size),
                   page.decoded_size - page.level_size, page_);
        take_levels(page, stored.substr(0, page.level_size));
        values = page_;
    }
    page_left_ = page.values;
    decoder_.reset();
    indices_.reset();
    if (!is_dictionary(page.encoding)) {
        std::size_t count = page.values;
        if (levels_ && (page.encoding == Encoding::delta_length_byte_array ||
                        page.encoding == Encoding::delta_byte_array)) {
            RunLengthReader ahead = *levels_;
            numbers_.resize(page.values);
            ahead.read(numbers_);
            count = static_cast<std::size_t>(std::count(numbers_.begin(), numbers_.end(), 1U));
        }
        decoder_ = make_decoder(column_, page.encoding, values, count);
        return;
    }
    if (!has_dictionary_)
        throw Damage{fmt::format("the column {} lacks its dictionary", column_.name)};
    if (!values.empty()) // a page without values may lack the width
        indices_.emplace(values.substr(1), static_cast<unsigned char>(values.front()));
}

/// Returns how many of the next `count` cells have a value. If not all of them have one, sets present_.
std::size_t ColumnReader::read_presence(std::size_t count) {
    if (!levels_ || levels_->skip_run(1, count))
        return count;
    present_.resize(count);
    numbers_.resize(count);
    levels_->read(numbers_);
    std::size_t present = 0;
    for (std::size_t i = 0; i < count; ++i) {
        present_[i] = numbers_[i] != 0;
        present += present_[i] ? 1 : 0;
    }
    return present;
}

std::string_view ColumnReader::dictionary_entry(std::uint32_t index) const {
    if (index >= dictionary_ends_.size())
        throw Damage{fmt::format("the column {} has a value that is not in its dictionary", column_.name)};
    const std::uint32_t begin = index == 0 ? 0 : dictionary_ends_[index - 1];
    return {dictionary_text_.data() + begin, dictionary_ends_[index] - begin};
}

/// Sets cells_ to the next `count` values.
void ColumnReader::write_values(std::size_t count) {
    cells_.resize(count);
    if (!decoder_) {
        if (count > 0 && !indices_)
            throw Damage{"a page ends early"};
        numbers_.resize(count);
        if (count > 0)
            indices_->read(numbers_);
        for (std::size_t i = 0; i < count; ++i)
            cells_[i] = dictionary_entry(numbers_[i]);
        return;
    }
    values_.resize(count);
    decoder_->read(values_);
    std::size_t room = readable_bytes;
    for (const Value& value : values_) {
        check_value(column_, value);
        room += cell_room(column_, value);
    }
    if (text_.size() < room)
        text_.resize(room);
    char* begin = text_.data();
    for (std::size_t i = 0; i < count; ++i) {
        char* const end = write_cell(column_, values_[i], begin);
        cells_[i] = {begin, static_cast<std::size_t>(end - begin)};
        begin = end;
    }
}

} // namespace rekindle::market::parquet
