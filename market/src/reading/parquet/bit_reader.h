#pragma once
/// Reads bit-packed integers and run lengths
/// (https://parquet.apache.org/docs/file-format/data-pages/encodings).

#include "reading/parquet/damage.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace rekindle::market::parquet {

/// Reads numbers of 0 to 64 bits, least significant bit first. Throws Damage at the end of the bytes.
class BitReader {
  public:
    explicit BitReader(std::string_view bytes) : bytes_(bytes) {}

    std::uint64_t bits(unsigned width) {
        if (width == 0)
            return 0;
        if (bit_ + width > bytes_.size() * 8)
            throw Damage{"a page ends early"};
        const std::size_t first = bit_ / 8;
        const unsigned shift = bit_ % 8;
        std::uint64_t low = 0;
        std::memcpy(&low, bytes_.data() + first, std::min<std::size_t>(8, bytes_.size() - first));
        std::uint64_t value = low >> shift;
        if (shift + width > 64)
            value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes_[first + 8]))
                     << (64 - shift);
        bit_ += width;
        return width == 64 ? value : value & ((std::uint64_t{1} << width) - 1);
    }
    /// The next values.size() numbers of at most 32 bits.
    void read(std::span<std::uint32_t> values, unsigned width) {
        const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
        const std::size_t size = bytes_.size();
        std::size_t done = 0;
        if (size >= sizeof(std::uint64_t)) { // the numbers that begin at least eight bytes before the end
            const std::size_t last = (size - sizeof(std::uint64_t)) * 8 + 7;
            for (; done < values.size() && bit_ <= last; ++done, bit_ += width) {
                std::uint64_t bits = 0;
                std::memcpy(&bits, bytes_.data() + bit_ / 8, sizeof bits);
                values[done] = static_cast<std::uint32_t>(bits >> bit_ % 8 & mask);
            }
        }
        for (; done < values.size(); ++done)
            values[done] = static_cast<std::uint32_t>(bits(width));
    }
    /// A variable-length integer; like zigzag(), it begins at the next whole byte.
    std::uint64_t varint() {
        align();
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            const std::uint64_t next = bits(8);
            value |= (next & 0x7F) << shift;
            if (next < 0x80)
                return value;
        }
        throw Damage{"a page contains an integer of more than 64 bits"};
    }
    std::int64_t zigzag() {
        const std::uint64_t value = varint();
        return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
    }
    void align() noexcept { bit_ = (bit_ + 7) / 8 * 8; }
    void skip_bits(std::uint64_t count) {
        if (count > bytes_.size() * 8 - bit_)
            throw Damage{"a page ends early"};
        bit_ += count;
    }
    /// The bytes from the next whole byte on.
    std::string_view rest() {
        align();
        return bytes_.substr(bit_ / 8);
    }

  private:
    std::string_view bytes_;
    std::size_t bit_ = 0;
};

/// Decodes the mixture of run lengths and packed integers that holds levels and indices into a dictionary.
class RunLengthReader {
  public:
    RunLengthReader(std::string_view bytes, unsigned width) : bits_(bytes), width_(width) {
        if (width > 32)
            throw Damage{"a page has indices of more than 32 bits"};
    }

    void read(std::span<std::uint32_t> values) {
        for (std::size_t done = 0; done < values.size();) {
            if (left_ == 0)
                begin_run();
            const std::size_t count = std::min<std::uint64_t>(left_, values.size() - done);
            if (packed_)
                bits_.read(values.subspan(done, count), width_);
            else
                std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(done), count, value_);
            done += count;
            left_ -= count;
        }
    }

    /// Skips `count` values if they are equal to `value` and stored as one run; otherwise does nothing.
    bool skip_run(std::uint32_t value, std::size_t count) {
        if (left_ == 0)
            begin_run();
        if (packed_ || value_ != value || left_ < count)
            return false;
        left_ -= count;
        return true;
    }

  private:
    void begin_run() {
        const std::uint64_t header = bits_.varint();
        packed_ = (header & 1) != 0;
        left_ = header >> 1;
        if (packed_)
            left_ *= 8;
        else
            value_ = static_cast<std::uint32_t>(bits_.bits((width_ + 7) / 8 * 8));
        if (left_ == 0)
            throw Damage{"a page has an empty run"};
    }

    BitReader bits_;
    unsigned width_;
    bool packed_ = false;
    std::uint64_t left_ = 0;
    std::uint32_t value_ = 0;
};

} // namespace rekindle::market::parquet
