#pragma once
/// Reads binary records from a stream of bytes.

#include "reading/byte_stream.h"

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace rekindle::market::reading {

/// A little-endian number at a position. Precondition: it lies within `bytes`.
template <class Number>
Number number_at(std::string_view bytes, std::size_t position) {
    Number value{};
    std::memcpy(&value, bytes.data() + position, sizeof value);
    return value;
}

class RecordStream {
  public:
    /// `beginning` holds the bytes that were already read from the stream.
    RecordStream(std::unique_ptr<ByteStream> stream, std::string beginning)
        : stream_(std::move(stream)), bytes_(std::move(beginning)) {}

    /// The next `count` bytes, or fewer at the end. Valid until the next call.
    std::string_view peek(std::size_t count) {
        if (bytes_.size() - position_ < count) {
            bytes_.erase(0, position_);
            position_ = 0;
            while (bytes_.size() < count && stream_->append(bytes_)) {
            }
        }
        return std::string_view(bytes_).substr(position_, count);
    }
    /// Precondition: peek() returned at least as many bytes.
    void skip(std::size_t count) noexcept { position_ += count; }
    std::uint64_t bytes_done() const { return stream_->bytes_done(); }
    std::uint64_t bytes_total() const { return stream_->bytes_total(); }

  private:
    std::unique_ptr<ByteStream> stream_;
    std::string bytes_;
    std::size_t position_ = 0;
};

} // namespace rekindle::market::reading
