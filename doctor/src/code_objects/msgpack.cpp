#include "code_objects/msgpack.h"

namespace rekindle::doctor {

namespace {

constexpr std::size_t deepest_nesting = 32;

} // namespace

std::optional<std::uint64_t> MsgpackReader::number(std::size_t at, int width) const noexcept {
    if (at > bytes_.size() || bytes_.size() - at < static_cast<std::size_t>(width))
        return std::nullopt;
    std::uint64_t value = 0;
    for (int i = 0; i < width; ++i)
        value = value << 8 | static_cast<std::uint8_t>(bytes_[at + static_cast<std::size_t>(i)]);
    return value;
}

// The length is in the low bits of a "fixed" code, or in the 1, 2 or 4 bytes after one of `codes`
// consecutive codes.
std::optional<std::uint64_t> MsgpackReader::read_length(std::uint8_t fixed, std::uint8_t fixed_mask,
                                                        std::uint8_t first_code, int first_width,
                                                        unsigned codes) noexcept {
    const auto code = number(position_, 1);
    if (!code)
        return std::nullopt;
    if ((*code & static_cast<std::uint8_t>(~fixed_mask)) == fixed) {
        ++position_;
        return *code & fixed_mask;
    }
    if (*code < first_code || *code - first_code >= codes)
        return std::nullopt;
    const int width = first_width << (*code - first_code);
    const auto length = number(position_ + 1, width);
    if (length)
        position_ += 1 + static_cast<std::size_t>(width);
    return length;
}

std::optional<std::uint64_t> MsgpackReader::read_count(std::uint8_t fixed, std::uint8_t first_code) noexcept {
    const std::size_t start = position_;
    const auto count = read_length(fixed, 0x0f, first_code, 2, 2);
    if (count && *count <= bytes_.size() - position_)
        return count;
    position_ = start;
    return std::nullopt;
}

std::optional<std::uint64_t> MsgpackReader::read_map() noexcept {
    return read_count(0x80, 0xde);
}

std::optional<std::uint64_t> MsgpackReader::read_array() noexcept {
    return read_count(0x90, 0xdc);
}

std::optional<std::string_view> MsgpackReader::read_text() noexcept {
    const std::size_t start = position_;
    const auto length = read_length(0xa0, 0x1f, 0xd9, 1, 3);
    if (!length || *length > bytes_.size() - position_) {
        position_ = start;
        return std::nullopt;
    }
    const std::string_view text = bytes_.substr(position_, *length);
    position_ += *length;
    return text;
}

std::optional<std::uint64_t> MsgpackReader::read_unsigned() noexcept {
    const auto code = number(position_, 1);
    if (!code)
        return std::nullopt;
    if (*code < 0x80) {
        ++position_;
        return code;
    }
    if (*code < 0xcc || *code > 0xcf)
        return std::nullopt;
    const int width = 1 << (*code - 0xcc);
    const auto value = number(position_ + 1, width);
    if (value)
        position_ += 1 + static_cast<std::size_t>(width);
    return value;
}

bool MsgpackReader::skip() noexcept {
    // Values still to skip at each level of nesting.
    std::uint64_t pending[deepest_nesting] = {1};
    std::size_t depth = 0;
    for (;;) {
        while (pending[depth] == 0) {
            if (depth-- == 0)
                return true;
        }
        --pending[depth];
        const auto code = number(position_, 1);
        if (!code)
            return false;
        const bool is_map = (*code & 0xf0) == 0x80 || *code == 0xde || *code == 0xdf;
        if (is_map || (*code & 0xf0) == 0x90 || *code == 0xdc || *code == 0xdd) {
            const auto count = is_map ? read_map() : read_array();
            if (!count || depth + 1 == deepest_nesting)
                return false;
            pending[++depth] = is_map ? 2 * *count : *count;
            continue;
        }
        if (read_text() || read_unsigned())
            continue;
        std::uint64_t size = 1;
        if (*code >= 0xc4 && *code <= 0xc9) { // binary and extension data
            const bool extension = *code >= 0xc7;
            const int width = 1 << (*code - (extension ? 0xc7 : 0xc4));
            const auto length = number(position_ + 1, width);
            if (!length)
                return false;
            size = 1 + static_cast<std::uint64_t>(width) + *length + (extension ? 1 : 0);
        } else if (*code == 0xca || *code == 0xcb) {
            size = *code == 0xca ? 5 : 9;
        } else if (*code >= 0xd0 && *code <= 0xd3) {
            size = 1 + (1ull << (*code - 0xd0));
        } else if (*code >= 0xd4 && *code <= 0xd8) {
            size = 2 + (1ull << (*code - 0xd4));
        } else if (*code < 0xe0 && *code != 0xc0 && *code != 0xc2 && *code != 0xc3) {
            return false; // a string, number, list or map that is cut off, or the code that is never used
        }
        if (size > bytes_.size() - position_)
            return false;
        position_ += size;
    }
}

} // namespace rekindle::doctor
