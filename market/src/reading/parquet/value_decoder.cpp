#include "reading/parquet/value_decoder.h"

#include "reading/parquet/bit_reader.h"
#include "reading/parquet/damage.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace rekindle::market::parquet {

namespace {

/// Longer texts are not names of contracts.
constexpr std::size_t longest_text = 1 << 14;

std::size_t width_of(const Column& column) {
    switch (column.physical) {
    case Physical::int32:
    case Physical::real32:
        return 4;
    case Physical::int96:
        return 12;
    case Physical::fixed_byte_array:
        return column.length;
    default:
        return 8;
    }
}

/// Extends a value of 32 bits, with its sign if it is a signed integer.
std::uint64_t widen(std::uint32_t value, const Column& column) {
    const bool is_signed = column.physical == Physical::int32 && column.logical != Logical::unsigned_integer;
    return is_signed ? static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(value)}) : value;
}

std::uint64_t load(const char* bytes, const Column& column) {
    std::uint64_t wide = 0;
    if (width_of(column) == 8) {
        std::memcpy(&wide, bytes, 8);
        return wide;
    }
    std::uint32_t narrow = 0;
    std::memcpy(&narrow, bytes, 4);
    return widen(narrow, column);
}

std::string_view take(std::string_view& bytes, std::size_t count) {
    if (count > bytes.size())
        throw Damage{"a page ends early"};
    const std::string_view taken = bytes.substr(0, count);
    bytes.remove_prefix(count);
    return taken;
}

class PlainNumbers final : public ValueDecoder {
  public:
    PlainNumbers(const Column& column, std::string_view bytes) : column_(column), bytes_(bytes) {}
    void read(std::span<Value> values) override {
        const std::size_t width = width_of(column_);
        const std::string_view stored = take(bytes_, values.size() * width);
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i].bits = load(stored.data() + i * width, column_);
    }

  private:
    const Column& column_;
    std::string_view bytes_;
};

class PlainBooleans final : public ValueDecoder {
  public:
    explicit PlainBooleans(std::string_view bytes) : bits_(bytes) {}
    void read(std::span<Value> values) override {
        for (Value& value : values)
            value.bits = bits_.bits(1);
    }

  private:
    BitReader bits_;
};

class RunLengthBooleans final : public ValueDecoder {
  public:
    explicit RunLengthBooleans(std::string_view bytes)
        : runs_(bytes.substr(std::min<std::size_t>(4, bytes.size())), 1) {}
    void read(std::span<Value> values) override {
        for (Value& value : values) {
            std::uint32_t bit = 0;
            runs_.read({&bit, 1});
            value.bits = bit;
        }
    }

  private:
    RunLengthReader runs_;
};

class PlainBytes final : public ValueDecoder {
  public:
    PlainBytes(const Column& column, std::string_view bytes) : column_(column), bytes_(bytes) {}
    void read(std::span<Value> values) override {
        for (Value& value : values) {
            std::size_t size = width_of(column_);
            if (column_.physical == Physical::byte_array) {
                std::uint32_t length = 0;
                std::memcpy(&length, take(bytes_, 4).data(), 4);
                size = length;
            }
            value.bytes = take(bytes_, size);
        }
    }

  private:
    const Column& column_;
    std::string_view bytes_;
};

/// BYTE_STREAM_SPLIT: the first bytes of all numbers, then their second bytes, and so on.
class SplitNumbers final : public ValueDecoder {
  public:
    SplitNumbers(const Column& column, std::string_view bytes) : column_(column), bytes_(bytes) {
        count_ = bytes.size() / width_of(column);
    }
    void read(std::span<Value> values) override {
        const std::size_t width = width_of(column_);
        if (values.size() > count_ - position_)
            throw Damage{"a page ends early"};
        std::array<char, 8> stored{};
        for (Value& value : values) {
            for (std::size_t i = 0; i < width; ++i)
                stored[i] = bytes_[i * count_ + position_];
            value.bits = load(stored.data(), column_);
            ++position_;
        }
    }

  private:
    const Column& column_;
    std::string_view bytes_;
    std::size_t count_ = 0;
    std::size_t position_ = 0;
};

/// DELTA_BINARY_PACKED: differences between neighbors in blocks, each with its smallest difference, divided
/// into parts with their own widths.
class Deltas {
  public:
    explicit Deltas(std::string_view bytes) : bits_(bytes) {
        block_size_ = bits_.varint();
        parts_ = bits_.varint();
        left_ = bits_.varint();
        value_ = static_cast<std::uint64_t>(bits_.zigzag());
        constexpr std::uint64_t largest_block = 1 << 16;
        if (parts_ == 0 || block_size_ > largest_block || parts_ > block_size_ || block_size_ % parts_ != 0)
            throw Damage{"a page has differences in impossible blocks"};
        part_size_ = block_size_ / parts_;
    }
    std::uint64_t count() const noexcept { return left_; }

    std::uint64_t next() {
        if (left_ == 0)
            throw Damage{"a page ends early"};
        --left_;
        if (std::exchange(first_, false))
            return value_;
        if (part_left_ == 0)
            begin_part();
        --part_left_;
        value_ += smallest_ + bits_.bits(widths_[part_ - 1]);
        return value_;
    }
    /// The bytes after the differences. Precondition: all values were read.
    std::string_view rest() {
        bits_.skip_bits(part_left_ * (part_ > 0 ? widths_[part_ - 1] : 0u));
        return bits_.rest();
    }

  private:
    void begin_part() {
        if (part_ == parts_ || widths_.empty()) {
            smallest_ = static_cast<std::uint64_t>(bits_.zigzag());
            widths_.resize(parts_);
            for (unsigned& width : widths_)
                if ((width = static_cast<unsigned>(bits_.bits(8))) > 64)
                    throw Damage{"a page has differences of more than 64 bits"};
            part_ = 0;
        }
        ++part_;
        part_left_ = part_size_;
    }

    BitReader bits_;
    std::uint64_t block_size_ = 0, parts_ = 0, left_ = 0, part_size_ = 0;
    std::uint64_t value_ = 0, smallest_ = 0;
    std::vector<unsigned> widths_;
    std::size_t part_ = 0;
    std::uint64_t part_left_ = 0;
    bool first_ = true;
};

class DeltaNumbers final : public ValueDecoder {
  public:
    DeltaNumbers(const Column& column, std::string_view bytes) : column_(column), deltas_(bytes) {}
    void read(std::span<Value> values) override {
        for (Value& value : values) {
            const std::uint64_t number = deltas_.next();
            value.bits = column_.physical == Physical::int32
                             ? widen(static_cast<std::uint32_t>(number), column_)
                             : number;
        }
    }

  private:
    const Column& column_;
    Deltas deltas_;
};

/// Reads the lengths at the beginning of `bytes` and removes them from it.
std::vector<std::uint32_t> read_lengths(std::string_view& bytes, std::size_t count) {
    Deltas deltas(bytes);
    if (deltas.count() != count)
        throw Damage{"a page has a different number of lengths and texts"};
    std::vector<std::uint32_t> lengths(count);
    for (std::uint32_t& length : lengths) {
        const std::uint64_t value = deltas.next();
        if (value > bytes.size() && value > longest_text)
            throw Damage{"a page has a text that is longer than the page"};
        length = static_cast<std::uint32_t>(value);
    }
    bytes = deltas.rest();
    return lengths;
}

class DeltaLengthBytes final : public ValueDecoder {
  public:
    DeltaLengthBytes(std::string_view bytes, std::size_t count) {
        lengths_ = read_lengths(bytes, count);
        bytes_ = bytes;
    }
    void read(std::span<Value> values) override {
        for (Value& value : values) {
            if (position_ == lengths_.size())
                throw Damage{"a page ends early"};
            value.bytes = take(bytes_, lengths_[position_++]);
        }
    }

  private:
    std::vector<std::uint32_t> lengths_;
    std::string_view bytes_;
    std::size_t position_ = 0;
};

/// DELTA_BYTE_ARRAY: each text is stored as the length of the prefix that it shares with its predecessor, and
/// a suffix.
class DeltaBytes final : public ValueDecoder {
  public:
    DeltaBytes(std::string_view bytes, std::size_t count)
        : prefixes_(read_lengths(bytes, count)), suffixes_(bytes, count) {}
    void read(std::span<Value> values) override {
        suffixes_.read(values);
        texts_.clear();
        texts_.reserve(values.size());
        for (Value& value : values) {
            const std::size_t prefix = prefixes_[position_++];
            if (prefix > previous_.size())
                throw Damage{"a page has a text whose prefix is longer than the text before it"};
            if (prefix + value.bytes.size() > longest_text)
                throw Unsupported{"a text is longer than 16 KiB"};
            previous_.resize(prefix);
            previous_.append(value.bytes);
            texts_.push_back(previous_);
            value.bytes = texts_.back();
        }
    }

  private:
    std::vector<std::uint32_t> prefixes_;
    DeltaLengthBytes suffixes_;
    std::vector<std::string> texts_;
    std::string previous_;
    std::size_t position_ = 0;
};

std::unique_ptr<ValueDecoder> make_plain(const Column& column, std::string_view bytes) {
    if (column.physical == Physical::boolean)
        return std::make_unique<PlainBooleans>(bytes);
    if (holds_bytes(column.physical))
        return std::make_unique<PlainBytes>(column, bytes);
    return std::make_unique<PlainNumbers>(column, bytes);
}

} // namespace

std::unique_ptr<ValueDecoder> make_decoder(const Column& column, Encoding encoding, std::string_view bytes,
                                           std::size_t count) {
    const bool integers = column.physical == Physical::int32 || column.physical == Physical::int64;
    const bool numbers =
        integers || column.physical == Physical::real32 || column.physical == Physical::real64;
    if (encoding == Encoding::plain)
        return make_plain(column, bytes);
    if (encoding == Encoding::byte_stream_split && numbers)
        return std::make_unique<SplitNumbers>(column, bytes);
    if (encoding == Encoding::delta_binary_packed && integers)
        return std::make_unique<DeltaNumbers>(column, bytes);
    if (encoding == Encoding::delta_length_byte_array && column.physical == Physical::byte_array)
        return std::make_unique<DeltaLengthBytes>(bytes, count);
    if (encoding == Encoding::delta_byte_array && holds_bytes(column.physical))
        return std::make_unique<DeltaBytes>(bytes, count);
    if (encoding == Encoding::run_length && column.physical == Physical::boolean)
        return std::make_unique<RunLengthBooleans>(bytes);
    throw Unsupported{fmt::format("the column {} has encoding {}", column.name, static_cast<int>(encoding))};
}

} // namespace rekindle::market::parquet
